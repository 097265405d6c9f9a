import { z } from 'zod'
import { EffectOutline } from './effect.ts'
import { ErrorBody } from './errors.ts'
import { Name } from './names.ts'
import { ResultPage, ToolResult } from './result.ts'
import { caller, maybe, place, RowId, RowTime, Sha256 } from './row-parts.ts'
import { RetryPolicy } from './tool.ts'

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
  ...place,
  ...caller,
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
  /** What it leaves behind outside, as far as anybody may know. */
  effects: z.array(EffectOutline).default([]),
  result: maybe(ToolResult),
  /** Why it failed, or was not run the last time. */
  error: maybe(ErrorBody),
  /** How far it has come, in words for whoever asks. */
  progress: maybe(z.string()),
  cancelRequestedAt: maybe(RowTime),
  /** When its end was told to whoever waits for it. */
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
  /** The process that took it in, and has whoever waits for it. */
  node: maybe(RowId),
  /** How long whoever called it waits there for a person's answer. */
  awaitedUntil: maybe(RowTime),
})
export type OperationRow = z.infer<typeof OperationRow>

/** A page of the result of an operation, where that was too large to be handed over at once. */
export const ResultRow = z.object({
  ...place,
  ...caller,
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
  ...place,
  ...caller,
  at: RowTime,
  operationId: RowId,
  tool: z.string(),
  /** Empty when the call was refused before anybody looked at its arguments. */
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
