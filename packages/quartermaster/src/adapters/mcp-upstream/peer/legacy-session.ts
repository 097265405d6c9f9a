import { type Cancellation, type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { anySignal, beforeAbort, withTimeLimit } from './abort.ts'
import { RpcError, SendFailure, UnreadableAnswer } from './channel.ts'
import { bareFailureIn, createDeclinedQuestions, createLegacyQuestions } from './legacy-questions.ts'
import { createLegacySubscriptions, type SubscriptionMethod } from './legacy-subscriptions.ts'
import type { Peer, RequestOptions } from './peer.ts'
import { createRequestAttribution } from './request-attribution.ts'
import type { Listener, RpcChannel } from './rpc-channel.ts'
import type { Session, SessionEvents, SessionFacts } from './session.ts'
import { asBegun, LIST_METHODS, ownMeta, requestPatiently, sessionOver, takeNotice } from './session-parts.ts'

/** What we can be asked for. Whether the present caller can answer is found out when it is asked. */
export const LEGACY_CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

/** How long a server may take to confirm a subscription. Then it is asked again. */
export const SUBSCRIBE_MS = 30_000

const ALWAYS = () => 0

/** The lists with notifications. */
const CHANGING = ['tools', 'prompts', 'resources'] as const

interface LegacyParts {
  readonly clock: Clock
  readonly events: SessionEvents
}

/** A session before 2026-07-28: the server may ask on its own, and does not say for which request. */
export function createLegacySession(
  rpc: RpcChannel,
  facts: SessionFacts,
  { clock, events }: LegacyParts,
): { session: Session; listener: Listener } {
  const { peer } = rpc
  const attribution = createRequestAttribution(clock)
  const declinedQuestions = createDeclinedQuestions()
  const questions = createLegacyQuestions({ clock, events, attribution, declinedQuestions })
  const hasTasks = takesTasks(facts)
  const subscriptions = createLegacySubscriptions({ clock, events, ended: rpc.ended, ask: askToTell })

  const session: Session = {
    ...sessionOver({ rpc, attribution, facts, probe: signal => peer.request('ping', {}, { signal }) }),
    page: (kind, cursor, signal) =>
      attribution.attendOwn(onLate =>
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
            signal: anySignal(signal, vain.signal),
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
        const result = await attribution.attend(behind, send, givenMs)
        const failure = bareFailureIn(result)
        const reason = failure === undefined ? undefined : declinedQuestions.reasonFor(behind, failure)
        if (reason) throw reason
        return declinedQuestions.addTo(result, behind)
      } catch (error) {
        // An unreadable answer may report a failure or not.
        if (!(error instanceof RpcError) || error instanceof UnreadableAnswer) throw error
        // A server without an answer to its question may say no more than that it failed.
        const reason = declinedQuestions.reasonFor(behind, error.message)
        const failure = method === 'tools/call' ? declinedQuestions.failureOf(error, behind) : undefined
        if (reason || !failure) throw reason ?? error
        return failure
      }
    },
    watch: subscriptions.want,
    listeningSince: () => (rpc.channel.listeningSince ?? ALWAYS)(),
    close: end => rpc.close(end),
  }

  function askToTell(method: SubscriptionMethod, uri: string): Promise<Params> {
    return withTimeLimit(SUBSCRIBE_MS, { clock, reason: 'It does not answer.' }, signal =>
      attribution.attendOwn(onLate => peer.request(method, { uri }, { signal, onLate })),
    )
  }

  /** A server does not repeat notifications from a gap. */
  function missed(): void {
    for (const kind of CHANGING) if (isRecord(facts.capabilities[kind])) events.onListChanged(kind)
    for (const uri of subscriptions.wanted()) events.onResourceUpdated(uri)
  }

  const notice = (method: string, params: Params) => takeNotice(method, params, { attribution, events })
  return { session, listener: { serve: questions.serve, notice, missed, isAsked: questions.isAsked } }
}

/**
 * Whether calls of a server's tools can be tasks (MCP 2025-11-25, tasks). Only servers that announce it may be asked
 * for them.
 */
function takesTasks({ capabilities }: SessionFacts): boolean {
  const { requests } = isRecord(capabilities.tasks) ? capabilities.tasks : {}
  const { tools } = isRecord(requests) ? requests : {}
  return isRecord(tools) && isRecord(tools.call)
}

type TaskOptions = RequestOptions & { readonly clock: Clock }

/**
 * Calls a tool that only runs as a task: creates the task and waits for its result, which the server returns when it is
 * done.
 */
async function requestAsTask(peer: Peer, params: Params, options: TaskOptions): Promise<Params> {
  const { onProgress } = options
  if (!onProgress) return callAsTask(peer, params, options)
  // The progress token is valid until the task ends (MCP 2025-11-25, tasks); the call ends when the task is created.
  const { progressToken, end } = peer.follow(onProgress)
  try {
    return await callAsTask(peer, params, { ...options, meta: { ...options.meta, progressToken } })
  } finally {
    end()
  }
}

async function callAsTask(peer: Peer, params: Params, options: TaskOptions): Promise<Params> {
  const { clock, signal, onLate, caller, fail } = options
  const begun = await begin(peer, params, options)
  const taskId = taskIn(begun)
  // It was quick, and answered.
  if (taskId === undefined) return begun
  try {
    // Requesting the result twice is the same as once.
    const patience = { clock, signal, mayRepeat: () => true }
    const asking = { signal, onLate, caller, fail }
    return await requestPatiently(() => peer.request('tasks/result', { taskId }, asking), patience)
  } catch (error) {
    if (signal.aborted) void cancelTask(peer, taskId, clock)
    throw error instanceof SendFailure ? asBegun(error) : error
  }
}

function taskIn({ task }: Params): string | undefined {
  const { taskId } = isRecord(task) ? task : {}
  return typeof taskId === 'string' ? taskId : undefined
}

/** How long to wait for the id of a cancelled task. */
export const LATE_MS = 10_000

/** A task can only be cancelled by its id, so the id is waited for even after the call was cancelled. */
async function begin(peer: Peer, params: Params, options: TaskOptions): Promise<Params> {
  const { signal, headers, clock, onLate, meta, caller, fail } = options
  const patience = new AbortController()
  const asking = { signal: patience.signal, headers, meta, caller, fail }
  const begun = peer.request('tools/call', { ...params, task: {} }, asking)
  try {
    return await beforeAbort(begun, signal)
  } catch (error) {
    if (signal.aborted) {
      const forget = clock.after(LATE_MS, () => patience.abort(signal.reason))
      void cancelWhenBegun(peer, begun, { clock, onLate }).finally(forget)
    }
    throw error
  }
}

async function cancelWhenBegun(
  peer: Peer,
  begun: Promise<Params>,
  { clock, onLate }: Pick<TaskOptions, 'clock' | 'onLate'>,
): Promise<void> {
  try {
    const taskId = taskIn(await begun)
    if (taskId === undefined) onLate?.()
    else await cancelTask(peer, taskId, clock)
  } catch (error) {
    // A refused task was not created; all else is unknown.
    if (error instanceof RpcError) onLate?.()
  }
}

/** How long a server may take to confirm the cancellation of a task: as long as for any cancellation. */
const CANCEL_MS = 2_000

async function cancelTask(peer: Peer, taskId: string, clock: Clock): Promise<void> {
  await withTimeLimit(CANCEL_MS, { clock, reason: 'No caller waits for it.' }, signal =>
    peer.request('tasks/cancel', { taskId }, { signal }),
  ).catch(() => {
    // The task may be done, or the server gone. No one waits for it either way.
  })
}
