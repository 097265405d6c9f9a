import type { Question } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { pause } from '../acquaintance/pausing.ts'
import { beforeAbort } from './before-abort.ts'
import { createBehindDesk } from './behind-desk.ts'
import { SendFailure } from './channel.ts'
import { requestAsTask, takesTasks } from './legacy-tasks.ts'
import type { Line, Listener } from './line.ts'
import { declined, isAnswerable, toQuestion, toResponse } from './questions.ts'
import { RPC, RpcError } from './rpc-error.ts'
import type { Behind, Session, SessionEvents, SessionFacts } from './session.ts'
import { LIST_METHODS, takeNotice } from './session-parts.ts'
import { createUnanswered, failureIn } from './unanswered.ts'

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
  const unanswered = createUnanswered()
  const hasTasks = takesTasks(facts)
  let watched: ReadonlySet<string> = new Set()
  let gathering: Promise<void> | undefined

  async function serve(method: string, params: Params, signal: AbortSignal): Promise<Params> {
    if (method === 'ping') return {}
    const question = toQuestion(method, params)
    if (!question) throw new RpcError({ code: RPC.methodNotFound, message: `There is no "${method}" here.` })
    const answered = desk.asked()
    try {
      return await answer(question, signal)
    } finally {
      answered()
    }
  }

  async function answer(question: Question, signal: AbortSignal): Promise<Params> {
    const behind = desk.only()
    if (behind === 'several') events.onCrowded()
    if (typeof behind === 'string') return declined(question)
    if (!isAnswerable(question, behind.canAnswer)) {
      // Of several that are under way nobody knows which one asked.
      if (desk.busy() === 1) await behind.ask(question).catch(why => unanswered.note(behind, why))
      return declined(question)
    }
    const asking = gathered().then(() => {
      signal.throwIfAborted()
      return behind.ask(question)
    })
    return toResponse(question, await beforeAbort(asking, signal))
  }

  /** A server that was refused an answer may say no more than that it failed. */
  function answeredOr(result: Params, behind: Behind): Params {
    const failure = failureIn(result)
    const reason = failure === undefined ? undefined : unanswered.reasonFor(behind, failure)
    if (reason) throw reason
    return result
  }

  /** A client from 2026-07-28 on gets what is asked in one go as one answer, and comes back once. */
  function gathered(): Promise<void> {
    gathering ??= pause(GATHER_MS, { clock }).then(() => {
      gathering = undefined
    })
    return gathering
  }

  const session: Session = {
    facts,
    page: (kind, cursor, signal) =>
      peer.request(LIST_METHODS[kind], cursor === undefined ? {} : { cursor }, { signal }),
    async ask(method, params, { signal, behind, trace, onProgress, headers, asTask }) {
      const leave = desk.enter(behind)
      const traced = trace ? { ...params, _meta: { ...trace } } : params
      const options = { signal, onProgress, headers }
      try {
        const result = await (asTask && hasTasks
          ? requestAsTask(peer, traced, { clock, ...options })
          : peer.request(method, traced, options))
        return answeredOr(result, behind)
      } catch (error) {
        throw (error instanceof RpcError && unanswered.reasonFor(behind, error.message)) || error
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
    workingSince: desk.workingSince,
    owedAt: desk.owedAt,
    usedAt: desk.usedAt,
    heardAt: line.heardAt,
    ended: line.ended,
    close: end => line.close(end),
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
