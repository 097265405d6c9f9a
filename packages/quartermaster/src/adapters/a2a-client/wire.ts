import { z } from 'zod'
import { HOPS_KEY } from '../../contracts/index.ts'
import {
  type RemoteAnswer,
  type RemoteArtifact,
  type RemoteEvent,
  RemoteFailure,
  type RemoteMessage,
  type RemotePart,
  type RemotePlace,
  type RemoteState,
  type RemoteStatus,
  type RemoteTask,
} from '../../core/external-peers/index.ts'
import type { ProtocolFault } from './exchange.ts'

// Lenient: unknown values are dropped, and null counts as absent.

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

/** A2A 1.0 §4.1.3. An unknown state counts as working, so the task is read again. */
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

/** `undefined` for an unknown kind of event. */
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

function fromPart(part: RemotePart): object {
  if (part.kind === 'text') return { text: part.text, mediaType: 'text/plain' }
  if (part.kind === 'data') return { data: part.data, mediaType: 'application/json' }
  const { name: filename, mediaType } = part
  return part.kind === 'link'
    ? { url: part.url, filename, mediaType }
    : { raw: Buffer.from(part.bytes).toString('base64'), filename, mediaType }
}

/** Operations, named as in JSON-RPC. */
export type Operation = 'SendMessage' | 'SendStreamingMessage' | 'GetTask' | 'SubscribeToTask' | 'CancelTask'

/** Encodes requests and decodes answers. */
interface Binding {
  write(
    place: RemotePlace,
    operation: Operation,
    given: Given,
  ): { readonly method: 'GET' | 'POST'; readonly url: URL; readonly body?: unknown }
  /** The result, or the protocol's error. */
  read(value: unknown): { readonly result: unknown } | { readonly error: ProtocolFault }
  /** The protocol's error in an answer with an error status. */
  readError(value: unknown): ProtocolFault | undefined
}

export type Given = { readonly message: RemoteMessage } | { readonly id: string }

const RpcError = z.object({ code: z.number().nullish(), message: z.string().nullish(), data: z.unknown().optional() })
const RpcAnswer = z.object({ result: z.unknown().optional(), error: RpcError.nullish() })

/** A2A 1.0 §9. */
const jsonRpc: Binding = {
  write: ({ url, tenant }, method, given) => ({
    method: 'POST',
    url: new URL(url),
    body: { jsonrpc: '2.0', id: 1, method, params: { ...(tenant !== null && { tenant }), ...parametersOf(given) } },
  }),
  read(value) {
    const answer = RpcAnswer.safeParse(value).data
    if (answer?.error) return { error: faultIn(answer.error) }
    return { result: answer?.result }
  },
  readError(value) {
    const { error } = RpcAnswer.safeParse(value).data ?? {}
    return error ? faultIn(error) : undefined
  },
}

const RestError = z.object({
  error: z.object({ code: z.number().nullish(), message: z.string().nullish(), details: z.unknown().optional() }),
})

/** A2A 1.0 §11. */
const rest: Binding = {
  write({ url, tenant }, operation, given) {
    const base = `${url.replace(/\/+$/, '')}${tenant === null ? '' : `/${encodeURIComponent(tenant)}`}`
    const { method, path } = PATHS[operation]
    const at = 'id' in given ? path.replace('{id}', encodeURIComponent(given.id)) : path
    const body = 'message' in given ? parametersOf(given) : method === 'POST' ? {} : undefined
    return { method, url: new URL(`${base}${at}`), ...(body && { body }) }
  },
  read: value => ({ result: value }),
  readError(value) {
    const { error } = RestError.safeParse(value).data ?? {}
    return error && { message: error.message ?? undefined, reason: reasonIn(error.details) }
  },
}

const PATHS = {
  SendMessage: { method: 'POST', path: '/message:send' },
  SendStreamingMessage: { method: 'POST', path: '/message:stream' },
  GetTask: { method: 'GET', path: '/tasks/{id}' },
  SubscribeToTask: { method: 'POST', path: '/tasks/{id}:subscribe' },
  CancelTask: { method: 'POST', path: '/tasks/{id}:cancel' },
} as const

export const BINDINGS: Readonly<Record<RemotePlace['binding'], Binding>> = { JSONRPC: jsonRpc, 'HTTP+JSON': rest }

function parametersOf(given: Given): object {
  if ('id' in given) return given
  const { messageId, taskId, contextId, parts, hops } = given.message
  return {
    message: {
      messageId,
      role: 'ROLE_USER',
      parts: parts.map(fromPart),
      ...(taskId !== undefined && { taskId }),
      ...(contextId !== undefined && contextId !== '' && { contextId }),
      ...(hops !== undefined && { metadata: { [HOPS_KEY]: hops } }),
    },
    // A task may take days, longer than any connection.
    configuration: { returnImmediately: true, acceptedOutputModes: [] },
  }
}

function faultIn({ code, message, data }: z.infer<typeof RpcError>): ProtocolFault {
  return { code: code ?? undefined, message: message ?? undefined, reason: reasonIn(data) }
}

const ErrorInfo = z.object({ reason: z.string() })

/** The reason in `google.rpc.ErrorInfo`, one entry of a list. */
function reasonIn(details: unknown): string | undefined {
  const list = Array.isArray(details) ? details : []
  return list.flatMap(one => ErrorInfo.safeParse(one).data?.reason ?? [])[0]
}

/** A queue of events with a single reader. */
export function createEventQueue<T>() {
  const waiting: T[] = []
  let ended: { readonly error?: unknown } | undefined
  let wake = () => {}

  async function* all(): AsyncGenerator<T> {
    for (;;) {
      const next = waiting.shift()
      if (next !== undefined) yield next
      else if (ended) {
        if (ended.error !== undefined) throw ended.error
        return
      } else await new Promise<void>(resolve => (wake = resolve))
    }
  }

  return {
    put(event: T): void {
      if (ended) return
      waiting.push(event)
      wake()
    },
    end(error?: unknown): void {
      ended ??= { error }
      wake()
    },
    [Symbol.asyncIterator]: all,
  }
}
