import type { Clock } from '../../../core/kernel/index.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { createBehindDesk } from './behind-desk.ts'
import { SendFailure } from './channel.ts'
import type { Line, Listener } from './line.ts'
import { declined, isAnswerable, toQuestion, toResponse } from './questions.ts'
import { RPC, RpcError } from './rpc-error.ts'
import type { Session, SessionEvents, SessionFacts } from './session.ts'
import { LIST_METHODS, takeNotice } from './session-parts.ts'

/** What we can be asked for. Whether the caller of the moment can is found out when it is asked. */
export const LEGACY_CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

/** Questions that belong together come one by one; they are passed on together when they come within this time. */
const GATHER_MS = 10

export interface LegacyParts {
  readonly clock: Clock
  readonly events: SessionEvents
}

/** A session of the era before 2026-07-28: the server may ask back on its own, and does not say on whose behalf. */
export function createLegacySession(
  line: Line,
  facts: SessionFacts,
  { clock, events }: LegacyParts,
): { session: Session; listener: Listener } {
  const { peer } = line
  const desk = createBehindDesk(clock)
  let watched: ReadonlySet<string> = new Set()
  let gathering: Promise<void> | undefined

  async function serve(method: string, params: Params, signal: AbortSignal): Promise<Params> {
    if (method === 'ping') return {}
    const question = toQuestion(method, params)
    if (!question) throw new RpcError({ code: RPC.methodNotFound, message: `There is no "${method}" here.` })
    const behind = desk.only()
    if (behind === 'several') events.onCrowded()
    if (typeof behind === 'string' || !isAnswerable(question, behind.canAnswer)) return declined(question)
    const answer = gathered().then(() => {
      signal.throwIfAborted()
      return behind.ask(question)
    })
    return toResponse(question, await untilAborted(answer, signal))
  }

  /** A client from 2026-07-28 on gets what is asked in one go as one answer, and comes back once. */
  function gathered(): Promise<void> {
    gathering ??= new Promise<void>(resolve => clock.after(GATHER_MS, resolve)).then(() => {
      gathering = undefined
    })
    return gathering
  }

  const session: Session = {
    facts,
    page: (kind, cursor, signal) =>
      peer.request(LIST_METHODS[kind], cursor === undefined ? {} : { cursor }, { signal }),
    async ask(method, params, { signal, behind, trace, onProgress, headers }) {
      const leave = desk.enter(behind)
      try {
        return await peer.request(method, trace ? { ...params, _meta: { ...trace } } : params, {
          signal,
          onProgress,
          headers,
        })
      } finally {
        leave()
      }
    },
    async ping(signal) {
      await peer.request('ping', {}, { signal }).catch(error => {
        if (!(error instanceof RpcError)) throw error
      })
    },
    watch(uris) {
      const before = watched
      watched = uris
      for (const uri of uris) if (!before.has(uri)) void subscribe('resources/subscribe', uri)
      for (const uri of before) if (!uris.has(uri)) void subscribe('resources/unsubscribe', uri)
    },
    pids: () => line.channel.pids(),
    busy: desk.busy,
    usedAt: desk.usedAt,
    heardAt: line.heardAt,
    ended: line.ended,
    close: () => line.close(),
  }

  async function subscribe(method: string, uri: string): Promise<void> {
    const ask = () => peer.request(method, { uri }, { signal: NEVER })
    // Twice is the same as once, and one exchange may break without the others.
    const askAgain = (error: unknown) => (error instanceof SendFailure ? ask() : undefined)
    await ask()
      .catch(askAgain)
      .catch(() => {
        // A server that does not do this has nothing to tell; one that is gone is subscribed to anew.
      })
  }

  return { session, listener: { serve, notice: (method, params) => takeNotice(method, params, { desk, events }) } }
}

const NEVER = new AbortController().signal

/** The server no longer wants to know. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new RpcError({ code: RPC.internal, message: 'The request was cancelled.' }))
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
