import { type Cancellation, type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { anySignal, beforeAbort, withTimeLimit } from './abort.ts'
import { RpcError, SendFailure, UnreadableAnswer } from './channel.ts'
import { bareFailureIn, createDeclinedQuestions, createLegacyQuestions } from './legacy-questions.ts'
import { createLegacySubscriptions, type SubscriptionMethod } from './legacy-subscriptions.ts'
import type { Listener, Peer, RequestOptions, RpcChannel } from './peer.ts'
import { createRequestAttribution } from './request-attribution.ts'
import type { Session, SessionEvents, SessionFacts } from './session.ts'
import { asBegun, LIST_METHODS, ownMeta, requestPatiently, sessionOver, takeNotice } from './session-parts.ts'

/** What servers may ask for. Whether the caller can answer is found out per question. */
export const LEGACY_CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

/** Time for a server to confirm a subscription, before it is asked again. */
export const SUBSCRIBE_MS = 30_000

const ALWAYS = () => 0

const CHANGING = ['tools', 'prompts', 'resources'] as const

interface LegacyParts {
  readonly clock: Clock
  readonly events: SessionEvents
}

/** A session before 2026-07-28: the server sends requests of its own, and does not say for which call. */
export function createLegacySession(
  rpc: RpcChannel,
  facts: SessionFacts,
  { clock, events }: LegacyParts,
): { session: Session; listener: Listener } {
  const { peer } = rpc
  const attribution = createRequestAttribution(clock)
  const declinedQuestions = createDeclinedQuestions()
  const questions = createLegacyQuestions({ clock, events, attribution, declinedQuestions })
  const hasTasks = hasTaskCalls(facts)
  const subscriptions = createLegacySubscriptions({ clock, events, ended: rpc.ended, ask: requestSubscription })

  const session: Session = {
    ...sessionOver({ rpc, attribution, facts, probe: signal => peer.request('ping', {}, { signal }) }),
    page: (kind, cursor, signal) =>
      attribution.trackOwn(onLate =>
        peer.request(LIST_METHODS[kind], cursor === undefined ? {} : { cursor }, { signal, onLate, isForNext: true }),
      ),
    async ask(method, params, asking) {
      const { signal, requester, onProgress, headers, asTask, ownerTimeoutMs } = asking
      throwIfCancelled(signal)
      questions.pauseIfQuestioned(requester)
      const meta = ownMeta(asking)
      try {
        const send = (onLate: () => void, vain: Cancellation) => {
          const options = {
            signal: anySignal(signal, vain.signal),
            onProgress,
            headers,
            onLate,
            meta,
            caller: requester.caller,
            fail: vain.cancel,
          }
          return asTask && hasTasks
            ? requestAsTask(peer, params, { clock, ...options })
            : peer.request(method, params, options)
        }
        const result = await attribution.track(requester, send, ownerTimeoutMs)
        const failure = bareFailureIn(result)
        const reason = failure === undefined ? undefined : declinedQuestions.reasonFor(requester, failure)
        if (reason) throw reason
        return declinedQuestions.addTo(result, requester)
      } catch (error) {
        // An unreadable answer may report a failure or not.
        if (!(error instanceof RpcError) || error instanceof UnreadableAnswer) throw error
        // A tool without an answer to its question may report no more than a failure.
        const reason = declinedQuestions.reasonFor(requester, error.message)
        const failure = method === 'tools/call' ? declinedQuestions.failureOf(error, requester) : undefined
        if (reason || !failure) throw reason ?? error
        return failure
      }
    },
    subscribeTo: subscriptions.setWanted,
    listeningSince: () => (rpc.channel.listeningSince ?? ALWAYS)(),
    close: end => rpc.close(end),
  }

  function requestSubscription(method: SubscriptionMethod, uri: string): Promise<Params> {
    return withTimeLimit(SUBSCRIBE_MS, { clock, reason: 'It does not answer.' }, signal =>
      attribution.trackOwn(onLate => peer.request(method, { uri }, { signal, onLate })),
    )
  }

  /** A server does not repeat notifications from a gap. */
  function missed(): void {
    for (const kind of CHANGING) if (isRecord(facts.capabilities[kind])) events.onListChanged(kind)
    for (const uri of subscriptions.wanted()) events.onResourceUpdated(uri)
  }

  const notice = (method: string, params: Params) => takeNotice(method, params, { attribution, events })
  return {
    session,
    listener: { serve: questions.serve, onNotification: notice, missed, hasOpenQuestion: questions.hasOpenQuestion },
  }
}

/**
 * Whether calls of a server's tools can be tasks (MCP 2025-11-25, tasks). Only servers that announce it may be asked
 * for them.
 */
function hasTaskCalls({ capabilities }: SessionFacts): boolean {
  const { requests } = isRecord(capabilities.tasks) ? capabilities.tasks : {}
  const { tools } = isRecord(requests) ? requests : {}
  return isRecord(tools) && isRecord(tools.call)
}

type TaskOptions = RequestOptions & { readonly clock: Clock }

/**
 * Calls a tool that only runs as a task: creates the task and fetches its result, which the server returns when it is
 * done.
 */
async function requestAsTask(peer: Peer, params: Params, options: TaskOptions): Promise<Params> {
  const { onProgress } = options
  if (!onProgress) return callAsTask(peer, params, options)
  // The progress token is valid until the task ends (MCP 2025-11-25, tasks); the call ends when the task is created.
  const { progressToken, end } = peer.followProgress(onProgress)
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
  // The server answered at once, without a task.
  if (taskId === undefined) return begun
  try {
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

/** A task can only be cancelled by its id, so the id is awaited even after the call was cancelled. */
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
    // A refused task was not created; otherwise that is unknown.
    if (error instanceof RpcError) onLate?.()
  }
}

/** Time for a server to confirm the cancellation of a task. */
const CANCEL_MS = 2_000

async function cancelTask(peer: Peer, taskId: string, clock: Clock): Promise<void> {
  await withTimeLimit(CANCEL_MS, { clock, reason: 'No caller waits for it.' }, signal =>
    peer.request('tasks/cancel', { taskId }, { signal }),
  ).catch(() => {
    // The task may be done, or the server gone; no caller waits for it.
  })
}
