import { z } from 'zod'
import { ErrorBody } from './errors.ts'
import { TravellingResult } from './result.ts'
import { AuditRow, OperationOutcome, OperationState } from './rows.ts'

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
  /** The names of the arguments, every value masked; absent once it has ended. */
  arguments: z.record(z.string(), z.string()).optional(),
  /** What the tool answered, also when it said no. Kept of tasks only. */
  result: TravellingResult.optional(),
  /** Why it could not be run, or what is not known about the run. */
  error: ErrorBody.optional(),
  /** How far it has come, while it runs. */
  progress: z.string().optional(),
  /** How long its end is kept, result included. Only tasks have it. */
  ttlMs: z.number().optional(),
  /** Forgotten then. */
  keepUntil: z.number().optional(),
})
export type OperationFacts = z.infer<typeof OperationFacts>

/** Some operations, newest first, and where the next page begins. */
export const OperationPage = z.object({ operations: z.array(OperationSummary), nextCursor: z.string().optional() })
export type OperationPage = z.infer<typeof OperationPage>

/** One line of the audit, as it is shown. */
export const AuditLine = AuditRow.omit({ organisation: true })
export type AuditLine = z.infer<typeof AuditLine>

/** Some of the audit, newest first, and where the next page begins. */
export const AuditPage = z.object({ lines: z.array(AuditLine), nextCursor: z.string().optional() })
export type AuditPage = z.infer<typeof AuditPage>
