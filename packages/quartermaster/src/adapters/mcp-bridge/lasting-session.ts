import { Dropped } from '../http-exchange/index.ts'
import type { Request } from '../mcp-wire/index.ts'
import { isPassing } from './errors.ts'
import { type Parts, post, readAnswer } from './exchange-parts.ts'
import type { Gateway } from './gateway.ts'
import { INITIALIZED, type LegacyMemory } from './legacy-memory.ts'
import { endSession, holdStream, postOneWay, reopen, type Session, sessionHeaders } from './legacy-session.ts'
import type { SessionVoice } from './session-voice.ts'

/** The session of a client, over as many sessions with gateways as it takes. */
export interface LastingSession {
  /** The session with this gateway, made anew where the last one was with another. Rejects with `Dropped`. */
  with(gateway: Gateway): Promise<Session>
  /** The client has opened this one itself. */
  take(session: Session): void
  /** A client that initialises again has no use for the session it had. */
  leave(): Promise<void>
  /** The server does not know this one any more. */
  retire(session: Session): Promise<void>
  /** The client is ready to hear what the server says unasked. */
  listen(): void
  close(signal: AbortSignal): Promise<void>
}

export interface LastingSessionDeps {
  readonly parts: Parts
  /** What the client has set up, and is to find again. */
  readonly memory: LegacyMemory
  readonly voice: SessionVoice
}

export function createLastingSession(deps: LastingSessionDeps): LastingSession {
  const { parts, memory, voice } = deps
  const { link, closing } = parts
  let current: Session | undefined
  let opening: Promise<Session> | undefined
  let listening: Session | undefined

  async function retire(session: Session | undefined): Promise<void> {
    if (!session) return
    session.over.abort()
    if (current === session) current = undefined
    await voice.over(session)
  }

  async function sessionWith(gateway: Gateway): Promise<Session> {
    while (current?.gateway !== gateway) {
      const initialize = memory.initialize()
      if (!initialize) return { gateway, capabilities: {}, over: new AbortController() }
      opening ??= renew(initialize, gateway).finally(() => {
        opening = undefined
      })
      if ((await opening).gateway !== gateway) continue
    }
    return current
  }

  async function renew(initialize: Request, gateway: Gateway): Promise<Session> {
    await retire(current)
    const session = await reopen(initialize, gateway, parts)
    current = session
    if (!memory.isInitialized()) return session
    await setUp(session, deps)
    void listenTo(session)
    await voice.renewed(session)
    return session
  }

  async function listenTo(session: Session): Promise<void> {
    if (listening === session) return
    listening = session
    const isWanted = () => current === session && !closing.aborted
    const end = await holdStream(session, { isWanted, onMessage: voice.forward(session) }, parts)
    if (end === 'gone') await restore(session)
  }

  /** Whoever waits for changes says nothing, so nobody else would notice that the session is gone. */
  async function restore(session: Session): Promise<void> {
    await retire(session)
    for (let tries = 0; !closing.aborted; tries++) {
      try {
        return void (await sessionWith(await link.gateway()))
      } catch (error) {
        if (!(error instanceof Dropped) && !isPassing(error)) return
        await parts.pause(tries)
      }
    }
  }

  return {
    with: sessionWith,
    take(session) {
      current = session
    },
    async leave() {
      const left = current
      await retire(left)
      // It ends by itself with its token when this does not arrive.
      if (left) endSession(left, parts, closing).catch(() => {})
    },
    retire,
    listen() {
      if (current) void listenTo(current)
    },
    async close(signal) {
      if (current) await endSession(current, parts, signal)
    },
  }
}

/** Brings a new session to where the client had its last one. */
async function setUp(session: Session, { parts, memory, voice }: LastingSessionDeps): Promise<void> {
  await postOneWay(session, JSON.stringify(INITIALIZED), parts)
  const options = { headers: sessionHeaders(session), signal: parts.closing }
  for (const request of memory.replay()) {
    const reply = await post(parts, session.gateway, JSON.stringify(request), options)
    // What cannot be had again is no reason to do without the rest.
    await readAnswer(reply, request.id, voice.forward(session))
  }
}
