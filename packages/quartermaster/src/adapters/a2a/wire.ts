import { z } from 'zod'
import { AppError, ConversationId, issueText, keepableText, MOST_PARTS } from '../../contracts/index.ts'
import { fewIssues } from '../../core/kernel/index.ts'

/** Of ProtoJSON, what is empty is as good as absent. */
const filled = <T extends z.ZodType>(schema: T) =>
  z.preprocess(value => (value === '' || value === null ? undefined : value), schema.optional())

/** Null says as much as nothing does. */
function orAbsent<T extends z.ZodType>(schema: T) {
  return z.preprocess(value => value ?? undefined, schema.optional())
}

const Id = keepableText().min(1).max(1_000)
/** As much of what was said as is told; nobody is refused for wanting more (§3.2.4). */
export const MOST_HISTORY = 100
const HistoryLength = z.coerce
  .number()
  .int()
  .min(0)
  .transform(wanted => Math.min(wanted, MOST_HISTORY))

/** What a client says, or is told. A part has one of the first four. */
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
    /** For extensions. What is not known is nobody's business. */
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

/** Of a query string, everything is text. */
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

/** What can be asked for, by the name that JSON-RPC and gRPC have for it. */
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

/** The parameters of an operation. Throws `INPUT_INVALID`. */
export function parseRequest<O extends Operation>(operation: O, value: unknown): RequestOf<O> {
  const result = REQUESTS[operation].safeParse(value)
  if (result.success) return result.data as RequestOf<O>
  const issues = fewIssues(result.error.issues)
  throw new AppError('INPUT_INVALID', issues.map(issueText).join(' '), { details: { issues } })
}

export type TaskState =
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED'

export type ToldPart = { readonly mediaType?: string; readonly filename?: string } & (
  | { readonly text: string }
  | { readonly data: unknown }
  | { readonly url: string }
)

export interface ToldMessage {
  readonly messageId: string
  readonly contextId: string
  readonly taskId: string
  readonly role: 'ROLE_USER' | 'ROLE_AGENT'
  readonly parts: readonly ToldPart[]
}

export interface TaskStatus {
  readonly state: TaskState
  readonly timestamp: string
  readonly message?: ToldMessage
}

export interface Artifact {
  readonly artifactId: string
  readonly name: string
  readonly parts: readonly ToldPart[]
}

export interface Task {
  readonly id: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly artifacts?: readonly Artifact[]
  readonly history?: readonly ToldMessage[]
  readonly metadata: Readonly<Record<string, unknown>>
}

/** One of the events of a stream. */
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
