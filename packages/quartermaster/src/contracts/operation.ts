import { z } from 'zod'
import { ResultPage, ToolResult, TravellingResult } from './call.ts'
import { ErrorBody } from './errors.ts'
import { maybe, Name, RowId, RowTime, rowCaller, rowHead, Sha256 } from './primitives.ts'
import { RetryPolicy } from './tool.ts'

/** What one look at an effect found. */
export const Observation = z.object({
  /** Whether the thing is as the effect says, is not, or could not be looked at. */
  seen: z.enum(['there', 'absent', 'unclear']),
  /** Tells this thing from what was there before: a hash, a count. */
  mark: z.string().max(1_000).optional(),
  /** How many there are, where they can be counted; fewer than before are nothing new. */
  count: z.number().optional(),
  /** Why it is absent or unclear, as a sentence. */
  reason: z.string().optional(),
  /** Of an unclear one: whether no later look would see more, as long as the thing itself is not another. */
  isLasting: z.boolean().optional(),
})
export type Observation = z.infer<typeof Observation>

/** An effect as an operation's record keeps it: what to look for, and what was seen of it before the run. */
export const KeptEffect = z.object({
  name: z.string(),
  kind: z.string(),
  /** What the kind needs to look, by the names of the spec's fields. */
  fields: z.record(z.string(), z.unknown()),
  baseline: Observation,
})
export type KeptEffect = z.infer<typeof KeptEffect>

/** The public part of a stored effect, kept when the rest of it is forgotten. */
export const EffectOutline = z.object({
  name: z.string(),
  kind: z.string(),
  /** What was seen of it before the run. */
  before: Observation.shape.seen,
})
export type EffectOutline = z.infer<typeof EffectOutline>

/** What is known about one effect of a run. */
export const EffectFinding = z.object({
  name: z.string(),
  state: z.enum(['verified', 'absent', 'indeterminate']),
  /** As a sentence. */
  reason: z.string(),
  /** What this look saw, whatever was there before. */
  seen: Observation.shape.seen,
})
export type EffectFinding = z.infer<typeof EffectFinding>

/** An effect as its operation is shown with. */
export const EffectFacts = EffectOutline.extend({
  /** What is looked for, by the names of the spec's fields, every value masked; absent where that is forgotten. */
  fields: z.record(z.string(), z.string()).optional(),
  /** Whether the run left it behind, as far as the record says; absent where it was never checked. */
  state: EffectFinding.shape.state.optional(),
  reason: EffectFinding.shape.reason.optional(),
})
export type EffectFacts = z.infer<typeof EffectFacts>

/** What is known about all effects of a run together. Only `verified` counts. */
export const EffectReport = z.object({
  verdict: z.enum(['verified', 'partial', 'absent', 'indeterminate']),
  effects: z.array(EffectFinding),
})
export type EffectReport = z.infer<typeof EffectReport>

/** Where an operation stands. The last seven are ends. */
export const OperationState = z.enum([
  'waitingForApproval',
  'queued',
  'leased',
  'succeeded',
  'failed',
  'denied',
  'exhausted',
  'expired',
  'cancelled',
  'unknown',
])
export type OperationState = z.infer<typeof OperationState>

/** What is known about what a run did. */
export const OperationOutcome = z.enum(['succeeded', 'failed', 'unknown'])
export type OperationOutcome = z.infer<typeof OperationOutcome>

/** The record of a call that may change something, waits, or is retried. */
export const OperationRow = z.object({
  ...rowHead,
  ...rowCaller,
  tool: Name,
  definitionHash: z.string().min(1),
  mutates: z.boolean(),
  /** The operation from inside which it was called. */
  parentId: maybe(RowId),
  /** Sealed; gone when the operation has ended. */
  arguments: maybe(z.string()),
  /** SHA-256 over the canonical JSON of the arguments. */
  digest: Sha256,
  /** Unique for a caller and tool. */
  idempotencyKey: maybe(z.string().min(1).max(255)),
  state: OperationState,
  /** Runs begun so far. */
  attempts: z.number().int().nonnegative().default(0),
  /** When a queued one is to run; null when it waits for something other than time. */
  dueAt: maybe(RowTime),
  /** Who runs it, until when, and the number that only the present holder knows: it grows with every lease. */
  leaseOwner: maybe(z.string()),
  leaseUntil: maybe(RowTime),
  fence: z.number().int().nonnegative().default(0),
  outcome: maybe(OperationOutcome),
  /** The public part of its effects. */
  effects: z.array(EffectOutline).default([]),
  result: maybe(ToolResult),
  /** Why it failed, or was not run the last time. */
  error: maybe(ErrorBody),
  /** Its progress in words. */
  progress: maybe(z.string()),
  cancelRequestedAt: maybe(RowTime),
  /** When its end was told to the caller that waits for it. */
  announcedAt: maybe(RowTime),
  createdAt: RowTime,
  updatedAt: RowTime,
  startedAt: maybe(RowTime),
  endedAt: maybe(RowTime),
  /** Given up then, unless it has ended. */
  expiresAt: maybe(RowTime),
  /** Not forgotten before then. Known when it has ended. */
  keepUntil: maybe(RowTime),
  /** Set for tasks, and only for them: how long the end is kept, result included. */
  ttlMs: maybe(z.number().int().nonnegative()),
  /** What its tool let be done after a failure when it was called. */
  retry: RetryPolicy.default('manual'),
  /** Since when its end is to be told; null when it has been, or there is none. */
  tellAt: maybe(RowTime),
  /** What its effects are known by, made concrete before the run, and what was seen of them. Sealed; gone with the arguments. */
  sealedEffects: maybe(z.string()),
  /** The process that accepted it, which the caller is connected to. */
  node: maybe(RowId),
  /** Until when the caller waits there for a person's answer. */
  awaitedUntil: maybe(RowTime),
})
export type OperationRow = z.infer<typeof OperationRow>

/** A page of the result of an operation, where that was too large to be handed over at once. */
export const ResultRow = z.object({
  ...rowHead,
  ...rowCaller,
  operationId: RowId,
  /** Where it begins in the whole, in bytes. */
  offset: z.number().int().nonnegative(),
  /** As JSON: a result may have characters that a column of text does not take. */
  page: ResultPage,
  createdAt: RowTime.default(0),
  /** With the first page: how many bytes all of them have; null once they were dropped for room. Null with the others. */
  wholeBytes: maybe(z.number().int().nonnegative()),
})
export type ResultRow = z.infer<typeof ResultRow>

/** One line of the audit. */
export const AuditRow = z.object({
  ...rowHead,
  ...rowCaller,
  at: RowTime,
  operationId: RowId,
  tool: z.string(),
  /** Empty when the call was refused before its arguments were checked. */
  digest: z.string().regex(/^(?:[0-9a-f]{64})?$/, 'must be a SHA-256 in lower-case hex'),
  decision: z.enum(['allowed', 'refused']),
  outcome: z.enum(['succeeded', 'failed', 'unknown', 'notRun']),
  code: maybe(z.string()),
  consent: maybe(
    z.object({
      operations: z.array(z.string()),
      by: z.string(),
      /** Of an answer, or of one that was taken back: how far it reaches. */
      lasting: z.enum(['once', 'time', 'always']).optional(),
    }),
  ),
  mutates: z.boolean(),
  durationMs: z.number().nonnegative(),
})
export type AuditRow = z.infer<typeof AuditRow>

/** A caller's own name for a call. Visible characters, so that two keys which look alike are alike. */
export const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'An idempotency key has 1 to 255 characters: letters, digits and signs, no spaces')
export type IdempotencyKey = z.infer<typeof IdempotencyKey>

/** Where MCP carries an idempotency key: in the `_meta` of a call, and over HTTP in a header beside it. */
export const IDEMPOTENCY_META = 'quartermaster/idempotencyKey'
export const IDEMPOTENCY_HEADER = 'idempotency-key'

/** What a call of a disabled tool does: it fails, waits on record until the tool is active again, or runs anyway. */
export const WhenDisabled = z.enum(['fail', 'wait', 'run'])
export type WhenDisabled = z.infer<typeof WhenDisabled>

/** Where MCP carries it: in the `_meta` of a call. */
export const WHEN_DISABLED_META = 'quartermaster/whenDisabled'

/** An operation as lists show it. */
export const OperationSummary = z.object({
  id: z.string(),
  agent: z.string(),
  tool: z.string(),
  mutates: z.boolean(),
  state: OperationState,
  /** What is known about what the run did; absent while it runs, and when it never ran. */
  outcome: OperationOutcome.optional(),
  /** The error code, when it ended in one. */
  code: z.string().optional(),
  /** The operation from inside which it was called. */
  parentId: z.string().optional(),
  createdAt: z.number(),
  updatedAt: z.number(),
  endedAt: z.number().optional(),
})
export type OperationSummary = z.infer<typeof OperationSummary>

/** Everything there is to know about an operation. */
export const OperationFacts = OperationSummary.extend({
  /** SHA-256 over the canonical JSON of the arguments. */
  digest: z.string(),
  definitionHash: z.string(),
  /** Runs begun so far. */
  attempts: z.number().int(),
  /** What may be done after a failure, by what its tool said when it was called. Absent when an older server answers. */
  retry: RetryPolicy.optional(),
  /** When a queued one is tried again; absent when it waits for something other than time. */
  nextAttemptAt: z.number().optional(),
  /** Given up then, while it waits. */
  expiresAt: z.number().optional(),
  /** It can be tried again by hand: it failed or its outcome is unknown, and its arguments are kept. */
  canRetry: z.boolean().optional(),
  /** The caller's own name for it. */
  idempotencyKey: z.string().optional(),
  /** When its end was told to the caller. */
  announcedAt: z.number().optional(),
  /** The names of the arguments, every value masked; absent once it has ended, unless it can be tried again. */
  arguments: z.record(z.string(), z.string()).optional(),
  /** What it leaves behind outside; absent where its tool names nothing, or it has not begun. */
  effects: z.array(EffectFacts).optional(),
  /** What the tool answered, also when it said no. Kept for a caller that missed the answer or asks again. */
  result: TravellingResult.optional(),
  /** Why it could not be run, or what is not known about the run. */
  error: ErrorBody.optional(),
  /** When it is tried again, while it waits for that. */
  dueAt: z.number().optional(),
  /** How far it has come, while it runs. */
  progress: z.string().optional(),
  /** How long its end is kept, result included. Only tasks have it. */
  ttlMs: z.number().optional(),
  /** Forgotten then. */
  keepUntil: z.number().optional(),
})
export type OperationFacts = z.infer<typeof OperationFacts>

/** What a look at what an operation was to leave behind found, and what became of the operation. */
export const OperationVerification = EffectReport.extend({
  /** How it was on record before, where this look has changed that. */
  changedFrom: OperationState.optional(),
  operation: OperationFacts,
})
export type OperationVerification = z.infer<typeof OperationVerification>

/** Some operations, newest first, and where the next page begins. */
export const OperationPage = z.object({ operations: z.array(OperationSummary), nextCursor: z.string().optional() })
export type OperationPage = z.infer<typeof OperationPage>

/** One line of the audit, as it is shown. */
export const AuditLine = AuditRow.omit({ organisation: true })
export type AuditLine = z.infer<typeof AuditLine>

/** Some of the audit, newest first, and where the next page begins. */
export const AuditPage = z.object({ lines: z.array(AuditLine), nextCursor: z.string().optional() })
export type AuditPage = z.infer<typeof AuditPage>
