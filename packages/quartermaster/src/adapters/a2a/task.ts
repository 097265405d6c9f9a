import type {
  ActivityRow,
  DelegationResult,
  DelegationRow,
  DelegationState,
  MessageAttachment,
  MessagePart,
} from '../../contracts/index.ts'
import { isQuestion, type ListedRow } from '../../core/delegation/index.ts'
import { wholeParts } from '../../core/messages/index.ts'
import type { Artifact, Task, TaskState, TaskStatus, ToldMessage, ToldPart } from './wire.ts'

/** What a task is called here while it is in this state; one in progress may also want something from its asker. */
export const STATES = {
  pending: 'TASK_STATE_SUBMITTED',
  queued: 'TASK_STATE_SUBMITTED',
  in_progress: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  expired: 'TASK_STATE_FAILED',
  cancelled: 'TASK_STATE_CANCELED',
} as const satisfies Record<DelegationState, TaskState>

/** What is read of a task, and what was said about it as far as that is known. */
export interface TaskFacts {
  readonly row: ListedRow
  /** The oldest first. */
  readonly said: readonly ActivityRow[]
}

/** A task as it is told, without its artifacts and what was said. */
export function toTask(facts: TaskFacts): Task {
  const { id, conversationId: contextId, state, deadlineAt } = facts.row
  const metadata = { 'quartermaster/state': state, 'quartermaster/deadline': new Date(deadlineAt).toISOString() }
  return { id, contextId, status: toStatus(facts), metadata }
}

export function toStatus({ row, said }: TaskFacts): TaskStatus {
  const timestamp = new Date(row.updatedAt).toISOString()
  if (row.state === 'failed' || row.state === 'expired' || row.state === 'cancelled')
    return { state: STATES[row.state], timestamp, message: endMessage(row) }
  const last = said.findLast(({ kind }) => kind === 'peer_agent')
  if (row.state !== 'in_progress' || row.progress === null || !last) return { state: STATES[row.state], timestamp }
  return { ...statusAfter(last, row.id), timestamp }
}

/** How a task in progress is once this was said about it. */
export function statusAfter(said: ActivityRow, taskId: string): TaskStatus {
  const timestamp = new Date(said.createdAt).toISOString()
  // What the asker says is its answer.
  if (said.direction === 'out') return { state: 'TASK_STATE_WORKING', timestamp }
  const state = isQuestion(said.text) ? 'TASK_STATE_INPUT_REQUIRED' : 'TASK_STATE_WORKING'
  return { state, timestamp, message: toMessage(said, taskId) }
}

/** Why it came to nothing. */
function endMessage({ id, conversationId, error, state }: ListedRow): ToldMessage {
  const text = error ?? state
  return { messageId: `${id}-end`, contextId: conversationId, taskId: id, role: 'ROLE_AGENT', parts: [toText(text)] }
}

/** What was said about a task, by the log of whoever has asked for it. */
export function toHistory(row: DelegationRow, said: readonly ActivityRow[]): ToldMessage[] {
  // What the platform says of an end is in the status; the agent has not said it.
  const spoken = said.filter(({ peerKind }) => peerKind !== 'platform')
  if (spoken.length > 0) return spoken.map(message => toMessage(message, row.id))
  // Logs are forgotten earlier than tasks that nobody has looked at.
  const { messageId, conversationId: contextId, id: taskId, task: text, parts } = row
  const told = wholeParts({ text, parts: parts ?? [] }).map(toPart)
  return [{ messageId, contextId, taskId, role: 'ROLE_USER', parts: told }]
}

function toMessage(
  { messageId: ours, senderMessageId, conversationId: contextId, direction, text, parts }: ActivityRow,
  taskId: string,
): ToldMessage {
  // Whoever makes a message names it (§4.1.4).
  const messageId = senderMessageId ?? ours
  const role = direction === 'out' ? 'ROLE_USER' : 'ROLE_AGENT'
  return { messageId, contextId, taskId, role, parts: wholeParts({ text, parts }).map(toPart) }
}

/** What came of it. Files are where whoever has the same token gets them. */
export function toArtifacts({ id, state, result }: DelegationRow, origin: string): Artifact[] {
  if (state !== 'completed' || !result) return []
  return [{ artifactId: `${id}-result`, name: 'result', parts: resultParts(result, origin) }]
}

function resultParts({ text, parts, attachments }: DelegationResult, origin: string): ToldPart[] {
  const words = text.trim() === '' ? [] : [toText(text)]
  return [...words, ...parts.map(toPart), ...attachments.map(file => toFile(file, origin))]
}

function toText(text: string): ToldPart {
  return { text, mediaType: 'text/plain' }
}

function toPart(part: MessagePart): ToldPart {
  return part.kind === 'text' ? toText(part.text) : { data: part.data, mediaType: 'application/json' }
}

function toFile({ id, name: filename, mediaType }: MessageAttachment, origin: string): ToldPart {
  return { url: `${origin}/api/v1/attachments/${id}/content`, filename, mediaType }
}
