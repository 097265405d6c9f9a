import { z } from 'zod'

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
  /** Only an answer of whoever was shown the question counts, and none that a client brought along before. */
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

/** One question of a tool to whoever started the run. */
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
