import type { Clock } from '../../../core/kernel/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { asBegun, requestPatiently } from './begun-work.ts'
import { SendFailure } from './channel.ts'
import type { Peer, RequestOptions } from './peer.ts'
import type { SessionFacts } from './session.ts'

/** Whether calls of a server's tools can be tasks (MCP 2025-11-25, tasks). Whoever does not say so must not be asked. */
export function takesTasks({ capabilities }: SessionFacts): boolean {
  const { requests } = isRecord(capabilities.tasks) ? capabilities.tasks : {}
  const { tools } = isRecord(requests) ? requests : {}
  return isRecord(tools) && isRecord(tools.call)
}

/** Calls a tool that only runs as a task: begins it, and waits for its result, which the server holds back until it is over. */
export async function requestAsTask(
  peer: Peer,
  params: Params,
  { clock, ...options }: RequestOptions & { readonly clock: Clock },
): Promise<Params> {
  const begun = await peer.request('tools/call', { ...params, task: {} }, options)
  const taskId = isRecord(begun.task) ? begun.task.taskId : undefined
  // It was quick, and answered.
  if (typeof taskId !== 'string') return begun
  const { signal } = options
  try {
    // Asking for it twice is the same as once.
    const patience = { clock, signal, mayRepeat: () => true }
    return await requestPatiently(() => peer.request('tasks/result', { taskId }, { signal }), patience)
  } catch (error) {
    if (signal.aborted) void cancelTask(peer, taskId)
    throw error instanceof SendFailure ? asBegun(error) : error
  }
}

async function cancelTask(peer: Peer, taskId: string): Promise<void> {
  await peer.request('tasks/cancel', { taskId }, { signal: NEVER }).catch(() => {
    // It may be over, or its server gone. Nobody waits for it either way.
  })
}

const NEVER = new AbortController().signal
