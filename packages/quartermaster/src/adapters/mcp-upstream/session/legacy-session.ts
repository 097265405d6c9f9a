import { type Cancellation, type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { withTimeLimit } from '../pausing.ts'
import { createBehindDesk } from './behind-desk.ts'
import { eitherOf } from './either-of.ts'
import { createLegacyQuestions } from './legacy-questions.ts'
import { createLegacySubscriptions, type SubscriptionMethod } from './legacy-subscriptions.ts'
import { requestAsTask, takesTasks } from './legacy-tasks.ts'
import type { Line, Listener } from './line.ts'
import { RpcError } from './rpc-error.ts'
import type { Session, SessionEvents, SessionFacts } from './session.ts'
import { LIST_METHODS, ownMeta, sessionOver, takeNotice } from './session-parts.ts'
import { bareFailureIn, createUnanswered } from './unanswered.ts'
import { UnreadableAnswer } from './unreadable-answer.ts'

/** What we can be asked for. Whether the caller of the moment can is found out when it is asked. */
export const LEGACY_CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

/** How long a server may take to say that it has subscribed. Then it is asked again. */
export const SUBSCRIBE_MS = 30_000

const ALWAYS = () => 0

/** The lists whose changes a server tells of. */
const CHANGING = ['tools', 'prompts', 'resources'] as const

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
  const questions = createLegacyQuestions({ clock, events, desk, unanswered })
  const hasTasks = takesTasks(facts)
  const subscriptions = createLegacySubscriptions({ clock, events, ended: line.ended, ask: askToTell })

  const session: Session = {
    ...sessionOver({ line, desk, facts, probe: signal => peer.request('ping', {}, { signal }) }),
    page: (kind, cursor, signal) =>
      desk.attendOwn(onLate =>
        peer.request(LIST_METHODS[kind], cursor === undefined ? {} : { cursor }, { signal, onLate, isForNext: true }),
      ),
    async ask(method, params, asking) {
      const { signal, behind, onProgress, headers, asTask, givenMs } = asking
      throwIfCancelled(signal)
      questions.holdBack(behind)
      const meta = ownMeta(asking)
      try {
        const send = (onLate: () => void, vain: Cancellation) => {
          const options = {
            signal: eitherOf(signal, vain.signal),
            onProgress,
            headers,
            onLate,
            meta,
            caller: behind.caller,
            fail: vain.cancel,
          }
          return asTask && hasTasks
            ? requestAsTask(peer, params, { clock, ...options })
            : peer.request(method, params, options)
        }
        const result = await desk.attend(behind, send, givenMs)
        const failure = bareFailureIn(result)
        const reason = failure === undefined ? undefined : unanswered.reasonFor(behind, failure)
        if (reason) throw reason
        return unanswered.addTo(result, behind)
      } catch (error) {
        // Nobody knows whether what cannot be read tells of a failure.
        if (!(error instanceof RpcError) || error instanceof UnreadableAnswer) throw error
        // A server that was refused an answer may say no more than that it failed.
        const reason = unanswered.reasonFor(behind, error.message)
        const failure = method === 'tools/call' ? unanswered.failureOf(error, behind) : undefined
        if (reason || !failure) throw reason ?? error
        return failure
      }
    },
    watch: subscriptions.want,
    listeningSince: () => (line.channel.listeningSince ?? ALWAYS)(),
    close: end => line.close(end),
  }

  function askToTell(method: SubscriptionMethod, uri: string): Promise<Params> {
    return withTimeLimit(SUBSCRIBE_MS, { clock, reason: 'It does not answer.' }, signal =>
      desk.attendOwn(onLate => peer.request(method, { uri }, { signal, onLate })),
    )
  }

  /** A server that was not heard for a while does not say again what it said. */
  function missed(): void {
    for (const kind of CHANGING) if (isRecord(facts.capabilities[kind])) events.onListChanged(kind)
    for (const uri of subscriptions.wanted()) events.onResourceUpdated(uri)
  }

  const notice = (method: string, params: Params) => takeNotice(method, params, { desk, events })
  return { session, listener: { serve: questions.serve, notice, missed, isAsked: questions.isAsked } }
}
