import { z } from 'zod'

const meta = { _meta: z.record(z.string(), z.unknown()).optional() }

/** A content block of a result, as in MCP. Unknown fields pass through, because they may matter to the client. */
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

/** A tool's result; `isError` when the tool refused. */
export const ToolResult = z.looseObject({
  content: z.array(ContentBlock),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  ...meta,
})
export type ToolResult = z.infer<typeof ToolResult>

/** A result between our own processes, validated where it came from. Recorded ones may have content types of another version. */
export const TravellingResult = ToolResult.extend({
  content: z.array(z.looseObject({ type: z.string() }) as unknown as typeof ContentBlock),
})

/** Where the rest of a cut result can be read. */
export const KeptResult = z.object({
  resultId: z.string(),
  totalBytes: z.number().int(),
  /** Bytes that can be read by paging; less than the total when the whole was too large to keep. */
  keptBytes: z.number().int(),
  nextOffset: z.number().int(),
  /** The call left a record, so the calling agent can read on. */
  isRecorded: z.literal(true).optional(),
})
export type KeptResult = z.infer<typeof KeptResult>

/** The `_meta` key of a cut result's `KeptResult`. */
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

/** A call that has not ended: what it waits for, and the id to ask by. */
export const WaitingHandle = z.object({
  status: z.literal('waiting'),
  operationId: z.string(),
  /** A person's approval, a dependency, the next retry, or the end of a run elsewhere. */
  for: z.enum(['approval', 'dependency', 'retry', 'run']),
  /** For a disabled tool: the dependencies that it waits for. */
  missing: z.array(z.string()).optional(),
  /** When the next retry is known. */
  nextAttemptAt: z.number().optional(),
  /** When it expires, unless it waits for a run. */
  expiresAt: z.number().optional(),
})
export type WaitingHandle = z.infer<typeof WaitingHandle>

/** The answer to a call. */
export const CallAnswer = z.object({
  operationId: z.string(),
  /** For a waiting call: what it waits for, in words. */
  result: TravellingResult,
  kept: KeptResult.optional(),
  waiting: WaitingHandle.optional(),
})
export type CallAnswer = z.infer<typeof CallAnswer>

/** The progress of a running call. */
export const Progress = z.object({
  progress: z.number(),
  total: z.number().optional(),
  message: z.string().optional(),
})
export type Progress = z.infer<typeof Progress>

/** The key of its answer, where several questions are asked at once. Generated when absent. */
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
  /** The operation id, where it asks for consent. */
  consentFor: z.string().optional(),
})
export type PersonQuestion = z.infer<typeof PersonQuestion>

/** A page that the person has to open, to sign in or to pay. Nothing typed there passes through here. */
export const UrlQuestion = z.object({
  kind: z.literal('url'),
  key,
  message: z.string().min(1),
  url: z.url({ protocol: /^https?$/, error: 'must be an http: or https: URL' }).max(8192),
  /** The id for clients before 2026-07-28. Generated when absent. */
  elicitationId: z.string().min(1).max(256).optional(),
})
export type UrlQuestion = z.infer<typeof UrlQuestion>

/** A question to the caller's language model. Few clients offer one; the answer's content is what the model said. */
export const ModelQuestion = z.looseObject({
  kind: z.literal('model'),
  key,
  messages: z.array(z.looseObject({ role: z.enum(['user', 'assistant']), content: z.unknown() })).min(1),
  maxTokens: z.number().int().positive(),
  systemPrompt: z.string().optional(),
})
export type ModelQuestion = z.infer<typeof ModelQuestion>

/** Asks for the caller's working folders; the answer's content is `{ roots: [{ uri, name }] }`. */
export const RootsQuestion = z.object({ kind: z.literal('roots'), key })

/** One question of a tool to the caller of the run. */
export const Question = z.union([PersonQuestion, UrlQuestion, ModelQuestion, RootsQuestion])
export type Question = z.infer<typeof Question>
export type QuestionKind = NonNullable<Question['kind']>

export const Answer = z.object({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z.record(z.string(), z.unknown()).optional(),
})
export type Answer = z.infer<typeof Answer>

/** A question in words. */
export function questionText(question: Question): string {
  if (question.kind === 'model') return 'an answer of the language model'
  if (question.kind === 'url') return `${question.message} ${question.url}`
  return question.kind === 'roots' ? 'the folders it works in' : question.message
}
