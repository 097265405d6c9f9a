import { z } from 'zod'
import {
  type RemoteAnswer,
  type RemoteArtifact,
  type RemoteEvent,
  RemoteFailure,
  type RemotePart,
  type RemoteState,
  type RemoteStatus,
  type RemoteTask,
} from '../../core/external-peers/index.ts'

// Lenient about all that does not count: what is unknown is left out, what is null is absent.

const Text = z.string().nullish()
const Part = z.object({
  text: Text,
  data: z.unknown().optional(),
  raw: Text,
  url: Text,
  filename: Text,
  mediaType: Text,
})
const Parts = z
  .array(Part)
  .nullish()
  .transform(parts => (parts ?? []).flatMap(toPart))
const Message = z.object({ messageId: Text, parts: Parts })
const Status = z.object({ state: z.string(), timestamp: Text, message: Message.nullish() })
const Artifact = z.object({ artifactId: Text, parts: Parts })
const Id = z.string().min(1).max(1_000)
const ContextId = z.string().max(1_000).nullish()
const Task = z.object({ id: Id, contextId: ContextId, status: Status, artifacts: z.array(Artifact).nullish() })
const Answer = z.object({ task: Task.nullish(), message: Message.nullish() })
const Event = Answer.extend({
  statusUpdate: z.object({ taskId: Id, contextId: ContextId, status: Status }).nullish(),
  artifactUpdate: z
    .object({ taskId: Id, contextId: ContextId, artifact: Artifact, append: z.boolean().nullish() })
    .nullish(),
})

/** A2A 1.0 §4.1.3. What is unknown is under way: it is looked at again. */
const STATES: Readonly<Record<string, RemoteState>> = {
  TASK_STATE_SUBMITTED: 'submitted',
  TASK_STATE_WORKING: 'working',
  TASK_STATE_INPUT_REQUIRED: 'inputRequired',
  TASK_STATE_AUTH_REQUIRED: 'authRequired',
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_CANCELED: 'canceled',
  TASK_STATE_REJECTED: 'rejected',
}

export function parseTask(value: unknown): RemoteTask {
  return toTask(parsed(Task, value))
}

export function parseAnswer(value: unknown): RemoteAnswer {
  const { task, message } = parsed(Answer, value)
  if (task) return { task: toTask(task) }
  if (message) return { message: message.parts }
  throw unreadable('neither a task nor a message')
}

/** Nothing for an event that is none of those we know. */
export function parseEvent(value: unknown): RemoteEvent | undefined {
  const { task, message, statusUpdate, artifactUpdate } = parsed(Event, value)
  if (task) return { task: toTask(task) }
  if (message) return { message: message.parts }
  if (statusUpdate) {
    const { taskId, contextId, status } = statusUpdate
    return { taskId, contextId: contextId ?? '', status: toStatus(status) }
  }
  if (!artifactUpdate) return undefined
  const { taskId, contextId, artifact, append } = artifactUpdate
  return { taskId, contextId: contextId ?? '', artifact: toArtifact(artifact, 0), append: append === true }
}

function parsed<T extends z.ZodType>(schema: T, value: unknown): z.infer<T> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw unreadable(`${result.error.issues[0]?.path.join('.') ?? ''}: ${result.error.issues[0]?.message ?? ''}`)
}

export function unreadable(what: string, cause?: unknown): RemoteFailure {
  return new RemoteFailure('broken', `Its answer cannot be read (${what}).`, { cause })
}

function toTask({ id, contextId, status, artifacts }: z.infer<typeof Task>): RemoteTask {
  return {
    id,
    contextId: contextId ?? '',
    status: toStatus(status),
    artifacts: (artifacts ?? []).map(toArtifact),
  }
}

function toArtifact({ artifactId, parts }: z.infer<typeof Artifact>, index: number): RemoteArtifact {
  return { id: artifactId ?? String(index), parts }
}

function toStatus({ state, timestamp, message }: z.infer<typeof Status>): RemoteStatus {
  const mark = [state, message?.messageId ?? '', timestamp ?? ''].join(' ')
  return { state: STATES[state] ?? 'working', said: message?.parts ?? [], mark }
}

function toPart({ text, data, raw, url, filename, mediaType }: z.infer<typeof Part>): RemotePart[] {
  const file = { name: filename ?? '', mediaType: mediaType ?? '' }
  if (typeof text === 'string') return [{ kind: 'text', text }]
  if (typeof raw === 'string') return [{ kind: 'file', bytes: new Uint8Array(Buffer.from(raw, 'base64')), ...file }]
  if (typeof url === 'string') return [{ kind: 'link', url, ...file }]
  return data === undefined || data === null ? [] : [{ kind: 'data', data }]
}

/** A piece of a message as it is sent. */
export function fromPart(part: RemotePart): object {
  if (part.kind === 'text') return { text: part.text, mediaType: 'text/plain' }
  if (part.kind === 'data') return { data: part.data, mediaType: 'application/json' }
  const { name: filename, mediaType } = part
  return part.kind === 'link'
    ? { url: part.url, filename, mediaType }
    : { raw: Buffer.from(part.bytes).toString('base64'), filename, mediaType }
}
