import { z } from 'zod'
import { ResultPage, ToolResult, TravellingResult } from './call.ts'
import { ErrorBody, maybe, Name, RowId, RowTime, rowCaller, rowHead, Sha256 } from './primitives.ts'
import { RetryPolicy } from './tool.ts'

/** The result of one check of an effect. */
export const Observation = z.object({
  /** Whether the effect is there, is absent, or could not be checked. */
  seen: z.enum(['there', 'absent', 'unclear']),
  /** Identifies the thing, to tell it from what was there before: a hash, a count. */
  mark: z.string().max(1_000).optional(),
  /** For countable effects; fewer than before means nothing new. */
  count: z.number().optional(),
  /** Why it is absent or unclear, as a sentence. */
  reason: z.string().optional(),
  /** Of an unclear one: no later check would see more while the thing is the same. */
  isLasting: z.boolean().optional(),
})
export type Observation = z.infer<typeof Observation>

/** A recorded effect: what to check, and what was there before the run. */
export const KeptEffect = z.object({
  name: z.string(),
  kind: z.string(),
  /** The fields of the spec that its kind needs. */
  fields: z.record(z.string(), z.unknown()),
  baseline: Observation,
})
export type KeptEffect = z.infer<typeof KeptEffect>

/** The part of a recorded effect that stays when the rest is deleted. */
export const EffectOutline = z.object({
  name: z.string(),
  kind: z.string(),
  /** What was there before the run. */
  before: Observation.shape.seen,
})
export type EffectOutline = z.infer<typeof EffectOutline>

/** The finding about one effect of a run. */
export const EffectFinding = z.object({
  name: z.string(),
  state: z.enum(['verified', 'absent', 'indeterminate']),
  /** As a sentence. */
  reason: z.string(),
  /** What this check saw, whatever was there before. */
  seen: Observation.shape.seen,
})
export type EffectFinding = z.infer<typeof EffectFinding>

/** An effect of an operation as it is shown. */
export const EffectFacts = EffectOutline.extend({
  /** The fields of the spec with masked values; absent once they are deleted. */
  fields: z.record(z.string(), z.string()).optional(),
  /** Whether the run left it behind, as far as recorded; absent if never checked. */
  state: EffectFinding.shape.state.optional(),
  reason: EffectFinding.shape.reason.optional(),
})
export type EffectFacts = z.infer<typeof EffectFacts>

/** The findings about all effects of a run. Only `verified` counts as success. */
export const EffectReport = z.object({
  verdict: z.enum(['verified', 'partial', 'absent', 'indeterminate']),
  effects: z.array(EffectFinding),
})
export type EffectReport = z.infer<typeof EffectReport>

/** The state of an operation. The last seven are ends. */
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

/** What is known about the result of a run. */
export const OperationOutcome = z.enum(['succeeded', 'failed', 'unknown'])
export type OperationOutcome = z.infer<typeof OperationOutcome>

/** The record of a call that may change something, waits, or is retried. */
export const OperationRow = z.object({
  ...rowHead,
  ...rowCaller,
  tool: Name,
  definitionHash: z.string().min(1),
  mutates: z.boolean(),
  /** The operation that made this call. */
  parentId: maybe(RowId),
  /** Sealed; deleted when the operation has ended. */
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
  /** The lease: the process, its end, and the fencing number that grows with every lease. */
  leaseOwner: maybe(z.string()),
  leaseUntil: maybe(RowTime),
  fence: z.number().int().nonnegative().default(0),
  outcome: maybe(OperationOutcome),
  /** The public part of its effects. */
  effects: z.array(EffectOutline).default([]),
  result: maybe(ToolResult),
  /** Why it failed, or was not run the last time. */
  error: maybe(ErrorBody),
  progress: maybe(z.string()),
  cancelRequestedAt: maybe(RowTime),
  /** When the waiting caller was notified of the end. */
  announcedAt: maybe(RowTime),
  createdAt: RowTime,
  updatedAt: RowTime,
  startedAt: maybe(RowTime),
  endedAt: maybe(RowTime),
  /** Expires at this time unless it has ended. */
  expiresAt: maybe(RowTime),
  /** Deleted after this time. Set at the end. */
  keepUntil: maybe(RowTime),
  /** Set for tasks alone: how long the end is kept, result included. */
  ttlMs: maybe(z.number().int().nonnegative()),
  /** The retry policy of the tool at the time of the call. */
  retry: RetryPolicy.default('manual'),
  /** Since when the end is to be notified; null when it has been, or there is no end. */
  tellAt: maybe(RowTime),
  /** The effects to verify and what was there before the run. Sealed; deleted with the arguments. */
  sealedEffects: maybe(z.string()),
  /** The process that accepted it, to which the caller is connected. */
  node: maybe(RowId),
  /** Until when the caller waits there for an approval. */
  awaitedUntil: maybe(RowTime),
})
export type OperationRow = z.infer<typeof OperationRow>

/** A page of a result that was too large for one answer. */
export const ResultRow = z.object({
  ...rowHead,
  ...rowCaller,
  operationId: RowId,
  /** Its position in the whole, in bytes. */
  offset: z.number().int().nonnegative(),
  /** As JSON, because a result may have characters that a text column does not take. */
  page: ResultPage,
  createdAt: RowTime.default(0),
  /** On the first page: the bytes of all pages; null once they were dropped for room. Null on the others. */
  wholeBytes: maybe(z.number().int().nonnegative()),
})

/** An audit line. */
export const AuditRow = z.object({
  ...rowHead,
  ...rowCaller,
  at: RowTime,
  operationId: RowId,
  tool: z.string(),
  /** Empty when the call was refused before its arguments were validated. */
  digest: z.string().regex(/^(?:[0-9a-f]{64})?$/, 'must be a SHA-256 in lower-case hex'),
  decision: z.enum(['allowed', 'refused']),
  outcome: z.enum(['succeeded', 'failed', 'unknown', 'notRun']),
  code: maybe(z.string()),
  consent: maybe(
    z.object({
      operations: z.array(z.string()),
      by: z.string(),
      /** Of an answer or a revocation: how long it lasts. */
      lasting: z.enum(['once', 'time', 'always']).optional(),
    }),
  ),
  mutates: z.boolean(),
  durationMs: z.number().nonnegative(),
})
export type AuditRow = z.infer<typeof AuditRow>

/** A caller's own key for a call. Visible characters only, so that keys which look alike are equal. */
export const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'An idempotency key has 1 to 255 characters: letters, digits and signs, no spaces')

/** What a call of a disabled tool does: fail, wait on record until the tool is active again, or run anyway. */
export const WhenDisabled = z.enum(['fail', 'wait', 'run'])
export type WhenDisabled = z.infer<typeof WhenDisabled>

/** Its `_meta` key in MCP calls. */
export const WHEN_DISABLED_META = 'quartermaster/whenDisabled'

/** An operation in a list. */
export const OperationSummary = z.object({
  id: z.string(),
  agent: z.string(),
  tool: z.string(),
  mutates: z.boolean(),
  state: OperationState,
  /** The result of the run; absent while it runs, and when it never ran. */
  outcome: OperationOutcome.optional(),
  /** The error code, if it ended in one. */
  code: z.string().optional(),
  /** The operation that made this call. */
  parentId: z.string().optional(),
  createdAt: z.number(),
  updatedAt: z.number(),
  endedAt: z.number().optional(),
})
export type OperationSummary = z.infer<typeof OperationSummary>

/** All facts about an operation. */
export const OperationFacts = OperationSummary.extend({
  /** SHA-256 over the canonical JSON of the arguments. */
  digest: z.string(),
  definitionHash: z.string(),
  /** Runs begun so far. */
  attempts: z.number().int(),
  /** The retry policy of the tool at the time of the call. Absent from an older server. */
  retry: RetryPolicy.optional(),
  /** The next retry; absent when it waits for something other than time. */
  nextAttemptAt: z.number().optional(),
  /** Expires at this time while it waits. */
  expiresAt: z.number().optional(),
  /** It can be retried by hand: it failed or its outcome is unknown, and its arguments are kept. */
  canRetry: z.boolean().optional(),
  idempotencyKey: z.string().optional(),
  /** When the caller was notified of the end. */
  announcedAt: z.number().optional(),
  /** The arguments with masked values; absent once it has ended, unless it can be retried. */
  arguments: z.record(z.string(), z.string()).optional(),
  /** Its effects; absent where its tool names none, or it has not begun. */
  effects: z.array(EffectFacts).optional(),
  /** The tool's result, also a refusal, for a caller that missed the answer or asks again. */
  result: TravellingResult.optional(),
  /** Why it could not run, or what is unknown about the run. */
  error: ErrorBody.optional(),
  /** The next retry. */
  dueAt: z.number().optional(),
  progress: z.string().optional(),
  /** For tasks alone: how long the end is kept, result included. */
  ttlMs: z.number().optional(),
  /** Deleted after this time. */
  keepUntil: z.number().optional(),
})
export type OperationFacts = z.infer<typeof OperationFacts>

/** The result of verifying an operation's effects. */
export const OperationVerification = EffectReport.extend({
  /** The earlier state, if the check changed it. */
  changedFrom: OperationState.optional(),
  operation: OperationFacts,
})
export type OperationVerification = z.infer<typeof OperationVerification>

/** A page of operations, newest first. */
export const OperationPage = z.object({ operations: z.array(OperationSummary), nextCursor: z.string().optional() })
export type OperationPage = z.infer<typeof OperationPage>

/** An audit line as it is shown. */
export const AuditLine = AuditRow.omit({ organisation: true })
export type AuditLine = z.infer<typeof AuditLine>

/** A page of the audit, newest first. */
export const AuditPage = z.object({ lines: z.array(AuditLine), nextCursor: z.string().optional() })
export type AuditPage = z.infer<typeof AuditPage>
