import type { Clock } from '../../../core/kernel/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { withTimeLimit } from '../pausing.ts'
import { beforeAbort } from './before-abort.ts'
import { asBegun, requestPatiently } from './begun-work.ts'
import { SendFailure } from './channel.ts'
import type { Peer, RequestOptions } from './peer.ts'
import { RpcError } from './rpc-error.ts'
import type { SessionFacts } from './session.ts'

/** Whether calls of a server's tools can be tasks (MCP 2025-11-25, tasks). Whoever does not say so must not be asked. */
export function takesTasks({ capabilities }: SessionFacts): boolean {
  const { requests } = isRecord(capabilities.tasks) ? capabilities.tasks : {}
  const { tools } = isRecord(requests) ? requests : {}
  return isRecord(tools) && isRecord(tools.call)
}

type TaskOptions = RequestOptions & { readonly clock: Clock }

/** Calls a tool that only runs as a task: begins it, and waits for its result, which the server holds back until it is over. */
export async function requestAsTask(peer: Peer, params: Params, options: TaskOptions): Promise<Params> {
  const { onProgress } = options
  if (!onProgress) return callAsTask(peer, params, options)
  // The token of the call is good until the task is over (MCP 2025-11-25, tasks), and the call is over when it has begun.
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
    // Asking for it twice is the same as once.
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

/** How long the name of a task is waited for that nobody wants any more. */
export const LATE_MS = 10_000

/** A task can only be cancelled by its name, so the name is waited for even by whoever has given up. */
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
    // What was refused has not begun; of everything else nobody knows.
    if (error instanceof RpcError) onLate?.()
  }
}

/** How long a server may take to say that it has cancelled a task: as long as it may take to hear of any cancellation. */
const CANCEL_MS = 2_000

async function cancelTask(peer: Peer, taskId: string, clock: Clock): Promise<void> {
  await withTimeLimit(CANCEL_MS, { clock, reason: 'Nobody waits for it.' }, signal =>
    peer.request('tasks/cancel', { taskId }, { signal }),
  ).catch(() => {
    // It may be over, or its server gone. Nobody waits for it either way.
  })
}
