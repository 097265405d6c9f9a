import { z } from 'zod'
import { EffectFacts, EffectVerdict } from './effect.ts'
import { ErrorBody } from './errors.ts'
import { TravellingResult } from './result.ts'
import { AuditRow, OperationOutcome, OperationState } from './rows.ts'
import { RetryPolicy } from './tool.ts'

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
  /** It can be tried again by hand: it did not do what was asked for, or nobody knows, and its arguments are kept. */
  canRetry: z.boolean().optional(),
  /** The caller's own name for it. */
  idempotencyKey: z.string().optional(),
  /** When its end was told to whoever asked for it. */
  announcedAt: z.number().optional(),
  /** The names of the arguments, every value masked; absent once it has ended, unless it can be tried again. */
  arguments: z.record(z.string(), z.string()).optional(),
  /** What it leaves behind outside; absent where its tool names nothing, or it has not begun. */
  effects: z.array(EffectFacts).optional(),
  /** What the tool answered, also when it said no. Kept for whoever did not get it as the answer, or may ask again. */
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
export const OperationVerification = EffectVerdict.extend({
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
