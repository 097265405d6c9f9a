import { z } from 'zod'

const meta = { _meta: z.record(z.string(), z.unknown()).optional() }

/** One piece of what a tool answers, in the shapes of MCP. Unknown fields pass through: they may matter to the client. */
export const ContentBlock = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string(), ...meta }),
  z.looseObject({ type: z.literal('image'), data: z.string(), mimeType: z.string(), ...meta }),
  z.looseObject({ type: z.literal('audio'), data: z.string(), mimeType: z.string(), ...meta }),
  z.looseObject({
    type: z.literal('resource'),
    resource: z.looseObject({
      uri: z.string(),
      mimeType: z.string().optional(),
      text: z.string().optional(),
      blob: z.string().optional(),
    }),
    ...meta,
  }),
  z.looseObject({ type: z.literal('resource_link'), uri: z.string(), name: z.string(), ...meta }),
])
export type ContentBlock = z.infer<typeof ContentBlock>

/** What a tool that ran has to say; `isError` when it said no. */
export const ToolResult = z.looseObject({
  content: z.array(ContentBlock),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  ...meta,
})
export type ToolResult = z.infer<typeof ToolResult>

/**
 * A result on its way between processes of ours, which was looked at where it came from. One that is on record may have kinds of
 * content that another version let pass, and those have to arrive as well.
 */
export const TravellingResult = ToolResult.extend({
  content: z.array(z.looseObject({ type: z.string() }) as unknown as typeof ContentBlock),
})

/** Where the rest of a cut result can be read. */
export const KeptResult = z.object({
  resultId: z.string(),
  totalBytes: z.number().int(),
  /** Bytes that can be read by paging; less than the total when even the whole was too large to keep. */
  keptBytes: z.number().int(),
  /** Where the next page begins. */
  nextOffset: z.number().int(),
  /** That the call left a record, by which the agent that made it can read on. */
  isRecorded: z.literal(true).optional(),
})
export type KeptResult = z.infer<typeof KeptResult>

/** Where a result that is on record says, in its `_meta`, that it was cut and what of it was kept: a `KeptResult`. */
export const KEPT_META = 'quartermaster/kept'

/** One page of a kept result. */
export const ResultPage = z.object({
  text: z.string(),
  offset: z.number().int(),
  /** Absent on the last page. */
  nextOffset: z.number().int().optional(),
  totalBytes: z.number().int(),
})
export type ResultPage = z.infer<typeof ResultPage>

/** A call that has not ended: what it waits for, and what to ask for its end by. */
export const WaitingHandle = z.object({
  status: z.literal('waiting'),
  operationId: z.string(),
  /** A person's answer, something its tool needs, the next try, or the end of a run somewhere else. */
  for: z.enum(['approval', 'dependency', 'retry', 'run']),
  /** Of a call whose tool is disabled: the dependencies that it waits for. */
  missing: z.array(z.string()).optional(),
  /** When it is tried again, where that is known. */
  nextAttemptAt: z.number().optional(),
  /** When it expires, where it waits for no run. */
  expiresAt: z.number().optional(),
})
export type WaitingHandle = z.infer<typeof WaitingHandle>

/** What a call answers. */
export const CallAnswer = z.object({
  operationId: z.string(),
  /** Of a call that waits, what it waits for, in words. */
  result: TravellingResult,
  kept: KeptResult.optional(),
  waiting: WaitingHandle.optional(),
})
export type CallAnswer = z.infer<typeof CallAnswer>

/** How far a running call has come. */
export const Progress = z.object({
  progress: z.number(),
  total: z.number().optional(),
  message: z.string().optional(),
})
export type Progress = z.infer<typeof Progress>

/** What the answer is filed under, where several are asked for at once. Made when absent. */
const key = z
  .string()
  .regex(/^[\w.-]{1,64}$/, 'must be letters, digits, "_", "-" or ".", at most 64')
  .optional()

/** A question to the person who started the run; `schema` is the JSON Schema of the answer's content. */
export const PersonQuestion = z.object({
  kind: z.literal('person').optional(),
  key,
  message: z.string().min(1),
  schema: z.record(z.string(), z.unknown()).optional(),
  /** Only an answer given after the question was shown is valid, not one that a client brought along. */
  shownFirst: z.boolean().optional(),
  /** The operation that it is about, where it asks for a person's consent. */
  consentFor: z.string().optional(),
})
export type PersonQuestion = z.infer<typeof PersonQuestion>

/** A page that the person who started the run has to open: to sign in, to pay. Nothing that is typed there comes through here. */
export const UrlQuestion = z.object({
  kind: z.literal('url'),
  key,
  message: z.string().min(1),
  url: z.url({ protocol: /^https?$/, error: 'must be an http: or https: URL' }).max(8192),
  /** What clients before 2026-07-28 know it by. Made when absent. */
  elicitationId: z.string().min(1).max(256).optional(),
})
export type UrlQuestion = z.infer<typeof UrlQuestion>

/** A question to the caller's language model. Few clients have one to lend; its answer's content is what the model said. */
export const ModelQuestion = z.looseObject({
  kind: z.literal('model'),
  key,
  messages: z.array(z.looseObject({ role: z.enum(['user', 'assistant']), content: z.unknown() })).min(1),
  maxTokens: z.number().int().positive(),
  systemPrompt: z.string().optional(),
})
export type ModelQuestion = z.infer<typeof ModelQuestion>

/** A question for the folders the caller works in; its answer's content is `{ roots: [{ uri, name }] }`. */
export const RootsQuestion = z.object({ kind: z.literal('roots'), key })
export type RootsQuestion = z.infer<typeof RootsQuestion>

/** One question of a tool to the caller of the run. */
export const Question = z.union([PersonQuestion, UrlQuestion, ModelQuestion, RootsQuestion])
export type Question = z.infer<typeof Question>
/** Whom a question is for. */
export type QuestionKind = NonNullable<Question['kind']>

export const Answer = z.object({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z.record(z.string(), z.unknown()).optional(),
})
export type Answer = z.infer<typeof Answer>

/** What is being asked, in words. */
export function questionText(question: Question): string {
  if (question.kind === 'model') return 'an answer of the language model'
  if (question.kind === 'url') return `${question.message} ${question.url}`
  return question.kind === 'roots' ? 'the folders it works in' : question.message
}
