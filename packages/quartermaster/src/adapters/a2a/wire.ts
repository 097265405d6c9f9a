import { z } from 'zod'
import {
  AppError,
  ConversationId,
  HOPS_KEY,
  isAppError,
  issueText,
  MOST_PARTS,
  storableText,
  TASK_BYTES,
} from '../../contracts/index.ts'
import { firstIssues, parseBoundedJson, textOfBody } from '../../core/kernel/index.ts'
import { type Fault, Refusal, restError, rpcError } from './errors.ts'

/** In ProtoJSON, empty values count as absent. */
const filled = <T extends z.ZodType>(schema: T) =>
  z.preprocess(value => (value === '' || value === null ? undefined : value), schema.optional())

/** Null counts as absent. */
function orAbsent<T extends z.ZodType>(schema: T) {
  return z.preprocess(value => value ?? undefined, schema.optional())
}

const Id = storableText().min(1).max(1_000)
/** The most history returned; clients may ask for more (§3.2.4). */
export const MOST_HISTORY = 100
const HistoryLength = z.coerce
  .number()
  .int()
  .min(0)
  .transform(wanted => Math.min(wanted, MOST_HISTORY))

/** A part of a message has one of these. */
const Part = z.object({
  text: orAbsent(z.string()),
  data: z.unknown().optional(),
  raw: orAbsent(z.string()),
  url: orAbsent(z.string()),
})
export type Part = z.infer<typeof Part>

const SendMessage = z.object({
  message: z.object({
    messageId: Id,
    role: z.literal(['ROLE_USER', 'ROLE_UNSPECIFIED', 0, 1]).optional(),
    parts: z.array(Part).min(1).max(MOST_PARTS),
    taskId: filled(Id),
    contextId: filled(ConversationId),
    /** For extensions. Unknown fields are ignored. */
    metadata: z.unknown().optional(),
  }),
  configuration: z
    .object({
      returnImmediately: z.boolean().nullish(),
      historyLength: filled(HistoryLength),
      taskPushNotificationConfig: orAbsent(z.unknown()),
    })
    .nullish(),
})
export type SendMessage = z.infer<typeof SendMessage>

const OneTask = z.object({ id: Id })
const GetTask = OneTask.extend({ historyLength: filled(HistoryLength) })
export type GetTask = z.infer<typeof GetTask>

/** Query parameters are text. */
const Flag = z.union([z.boolean(), z.literal(['true', 'false']).transform(text => text === 'true')])

const ListTasks = z.object({
  contextId: filled(Id),
  status: filled(z.union([z.string(), z.number()])),
  pageSize: filled(z.coerce.number().int().min(1).max(100)),
  pageToken: filled(z.string().max(200)),
  historyLength: filled(HistoryLength),
  statusTimestampAfter: filled(z.iso.datetime({ offset: true })),
  includeArtifacts: filled(Flag),
})
export type ListTasks = z.infer<typeof ListTasks>

/** Requests by operation, named as in JSON-RPC and gRPC. */
export const REQUESTS = {
  SendMessage,
  SendStreamingMessage: SendMessage,
  GetTask,
  ListTasks,
  CancelTask: OneTask,
  SubscribeToTask: OneTask,
} as const
export type Operation = keyof typeof REQUESTS
export type RequestOf<O extends Operation> = z.infer<(typeof REQUESTS)[O]>

export function parseRequest<O extends Operation>(operation: O, value: unknown): RequestOf<O> {
  const result = REQUESTS[operation].safeParse(value)
  if (result.success) return result.data as RequestOf<O>
  const issues = firstIssues(result.error.issues)
  throw new AppError('INPUT_INVALID', issues.map(issueText).join(' '), { details: { issues } })
}

export type TaskState =
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED'

export type WirePart = { readonly mediaType?: string; readonly filename?: string } & (
  | { readonly text: string }
  | { readonly data: unknown }
  | { readonly url: string }
)

export interface WireMessage {
  readonly messageId: string
  readonly contextId: string
  readonly taskId: string
  readonly role: 'ROLE_USER' | 'ROLE_AGENT'
  readonly parts: readonly WirePart[]
}

export interface TaskStatus {
  readonly state: TaskState
  readonly timestamp: string
  readonly message?: WireMessage
}

export interface Artifact {
  readonly artifactId: string
  readonly name: string
  readonly parts: readonly WirePart[]
}

export interface Task {
  readonly id: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly artifacts?: readonly Artifact[]
  readonly history?: readonly WireMessage[]
  readonly metadata: Readonly<Record<string, unknown>>
}

export type StreamEvent =
  | { readonly task: Task }
  | { readonly statusUpdate: { readonly taskId: string; readonly contextId: string; readonly status: TaskStatus } }
  | {
      readonly artifactUpdate: {
        readonly taskId: string
        readonly contextId: string
        readonly artifact: Artifact
        readonly lastChunk: true
      }
    }

/** How requests and answers are encoded: the specification's two bindings over HTTP. */
export interface Binding {
  read(request: Request): Promise<{ readonly name: string; readonly params: unknown }>
  /** Reads what an error has to repeat, of a request that was rejected before it was read. */
  learn(request: Request): Promise<void>
  toData(result: object): object
  toFault(fault: Fault): object
  statusOf(fault: Fault): number
  readonly contentType: string
}

const RequestId = z.union([z.string(), z.number(), z.null()])
const Call = z.object({
  jsonrpc: z.literal('2.0'),
  id: RequestId.optional(),
  method: z.string(),
  params: z.unknown().optional(),
})

/** The JSON-RPC binding: one address, and method names (§9). */
export function jsonRpc(): Binding {
  // Errors repeat the id of the call as soon as it is known.
  let id: z.infer<typeof RequestId> = null
  const bodyOf = async (request: Request) => {
    const body = await readJson(request)
    id = idIn(body)
    return body
  }
  return {
    async read(request) {
      const call = Call.safeParse(await bodyOf(request))
      if (!call.success) throw new Refusal('INVALID_REQUEST', 'This is no JSON-RPC 2.0 request with a method.')
      return { name: call.data.method, params: call.data.params ?? {} }
    },
    async learn(request) {
      // The request was rejected for another reason; a bad body does not matter.
      if (!request.bodyUsed) await bodyOf(request).catch(() => {})
    },
    toData: result => ({ jsonrpc: '2.0', id, result }),
    toFault: fault => ({ jsonrpc: '2.0', id, error: rpcError(fault) }),
    statusOf,
    contentType: 'application/json',
  }
}

function idIn(body: unknown): z.infer<typeof RequestId> {
  const known = z.object({ id: RequestId }).safeParse(body)
  return known.success ? known.data.id : null
}

/** Errors of a call are in the answer; only authentication, limits and server failures use HTTP statuses. */
function statusOf({ status }: Fault): number {
  return status === 401 || status === 403 || status === 429 || status >= 500 ? status : 200
}

/** JSON needs more space than the text of a task. */
const MOST_BYTES = 2.5 * TASK_BYTES
/** Real requests stay far below. */
const LIMITS = { maxJsonDepth: 64, maxJsonValues: 100_000 }

async function readJson(request: Request): Promise<unknown> {
  if (!/^application\/(a2a\+)?json\s*(;|$)/i.test(request.headers.get('content-type') ?? ''))
    throw new Refusal(
      'CONTENT_TYPE_NOT_SUPPORTED',
      'The content type must be application/json or application/a2a+json.',
    )
  const bytes = await readBytes(request)
  try {
    return parseBoundedJson(textOfBody(bytes), LIMITS)
  } catch (error) {
    // Limits of depth and size keep their own code.
    throw isAppError(error) && error.code === 'INPUT_INVALID' ? new Refusal('PARSE_ERROR', error.message) : error
  }
}

async function readBytes(request: Request): Promise<Uint8Array> {
  // Not aborted, because that would end a connection on which the client continues.
  if (Number(request.headers.get('content-length') ?? 0) > MOST_BYTES) throw tooLarge()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of received(request)) {
    size += chunk.byteLength
    if (size > MOST_BYTES) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(): AppError {
  return new AppError('LIMIT_EXCEEDED', `The request body is larger than ${MOST_BYTES} bytes.`)
}

async function* received({ body }: Request): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? []
  } catch (cause) {
    throw new AppError('CANCELLED', 'The connection ended before the request was complete.', { cause })
  }
}

/** The HTTP+JSON binding: one address per operation (§11.3). */
export function rest(path: string, query: URLSearchParams): Binding {
  return {
    async read(request) {
      const route = ROUTES.find(({ pattern }) => pattern.test(path))
      if (!route) throw new Refusal('METHOD_NOT_FOUND', 'There is nothing at this address.')
      const { pattern, methods, name, hasBody = false } = route
      const allowed = methods.join(', ')
      if (!methods.includes(request.method))
        throw new Refusal('METHOD_NOT_ALLOWED', `Only ${allowed} is answered here.`, { Allow: allowed })
      const { id } = pattern.exec(path)?.groups ?? {}
      const params = hasBody ? await readJson(request) : Object.fromEntries(query)
      return { name, params: id === undefined ? params : { ...Object(params), id } }
    },
    async learn() {},
    toData: result => result,
    toFault: restError,
    statusOf: ({ status }) => status,
    contentType: 'application/a2a+json',
  }
}

interface Route {
  readonly pattern: RegExp
  readonly methods: readonly string[]
  readonly name: string
  readonly hasBody?: boolean
}

const ROUTES: readonly Route[] = [
  { pattern: /^message:send$/, methods: ['POST'], name: 'SendMessage', hasBody: true },
  { pattern: /^message:stream$/, methods: ['POST'], name: 'SendStreamingMessage', hasBody: true },
  { pattern: /^tasks$/, methods: ['GET'], name: 'ListTasks' },
  { pattern: /^tasks\/(?<id>[^/:]+):cancel$/, methods: ['POST'], name: 'CancelTask' },
  { pattern: /^tasks\/(?<id>[^/:]+):subscribe$/, methods: ['POST', 'GET'], name: 'SubscribeToTask' },
  { pattern: /^tasks\/(?<id>[^/:]+)$/, methods: ['GET'], name: 'GetTask' },
  {
    pattern: /^tasks\/[^/]+\/pushNotificationConfigs(\/[^/]+)?$/,
    methods: ['GET', 'POST', 'DELETE'],
    name: 'TaskPushNotificationConfig',
  },
  { pattern: /^extendedAgentCard$/, methods: ['GET'], name: 'GetExtendedAgentCard' },
]

/** More than any hop limit. */
const MOST = 1_000

/** How often a task was forwarded before, from the message's metadata. Invalid values count as 0. */
export function hopsIn(metadata: unknown): number {
  if (typeof metadata !== 'object' || metadata === null || !Object.hasOwn(metadata, HOPS_KEY)) return 0
  const activity: unknown = Reflect.get(metadata, HOPS_KEY)
  return typeof activity === 'number' && activity > 0 ? Math.min(Math.ceil(activity), MOST) : 0
}
