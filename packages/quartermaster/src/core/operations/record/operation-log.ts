import type {
  AuditEntry,
  Caller,
  ErrorBody,
  KeptEffect,
  NewRow,
  OperationOutcome,
  OperationRow,
  OperationState,
  ResultPage,
  RetryPolicy,
  ToolResult,
} from '../../../contracts/index.ts'
import type { Write } from '../../store/index.ts'
import type { IsDelivered } from './delivery-tracker.ts'
import type { OperationSnapshot } from './operation-storage.ts'

/** The states in which nothing happens any more. */
export type EndState = Exclude<OperationState, 'waitingForApproval' | 'queued' | 'leased'>

/** What is known about a call that is about to run. */
export interface OperationRecord {
  readonly id: string
  readonly caller: Caller
  readonly tool: string
  readonly definitionHash: string
  readonly mutates: boolean
  /** What may be done after a failure. */
  readonly retry: RetryPolicy
  readonly digest: string
  /** The arguments as they were given; sealed before they are written anywhere. */
  readonly input: unknown
  readonly startedAt: number
  /** The operation from inside which it was called. */
  readonly parentId: string | undefined
  /** Set for tasks: how long the end is kept. */
  readonly ttlMs: number | undefined
  /** Whether a person has to allow it. */
  readonly needsConsent: boolean
  /** Whose repeat gets the same answer, where the caller gave one. */
  readonly idempotencyKey: string | undefined
}

/** How a call ended, with its line of the audit. */
export interface OperationEnd {
  readonly id: string
  readonly state: EndState
  /** Absent when the tool never ran. */
  readonly outcome: OperationOutcome | undefined
  readonly result: ToolResult | undefined
  /** All of the result, where only the beginning of it was handed over. */
  readonly pages?: readonly ResultPage[] | undefined
  readonly error: ErrorBody | undefined
  /** Nothing was done, and the same call is welcome later: stopping, a disabled tool, too much to do. */
  readonly isRefused?: boolean | undefined
  readonly audit: AuditEntry
  /** Whether the waiting caller got it; assumed once the end is on record where absent. */
  readonly isDelivered?: IsDelivered | undefined
}

/** A call that could not be done now and is to be tried again. */
export interface OperationDelay {
  readonly id: string
  /** When; not before what it needs is there, where there is no time. */
  readonly dueAt: number | undefined
  /** Why it was not done this time. */
  readonly error: ErrorBody
  /** Whether the tool was run: only that uses up an attempt. */
  readonly hasRun: boolean
  readonly audit: AuditEntry
}

/** A call that runs now. */
export interface RunningOperation {
  readonly record: OperationRecord
  /** How far it has come, in words. */
  readonly progress: string | undefined
}

/** What came of writing a call down: it is; its key is on record already; or the consent it runs on is not there any more. */
export type Begun = 'begun' | 'known' | 'unallowed'

/** Where a call is written down before it runs, and how it ended. */
export interface OperationLog {
  /**
   * Resolves when the record is durable. What consent was given is looked at, and used up, in the same commit. A call that
   * changes nothing has no record, and gets `undefined` at once: waiting for nothing would cost it more than all the rest of
   * the path.
   */
  begin(record: OperationRecord, consent?: readonly Write[]): Promise<Begun> | undefined
  /** Resolves when a call is recorded as waiting for a person, with the request, and until when its caller waits. */
  park(
    record: OperationRecord,
    approval: NewRow<'approvals'>,
    awaitedUntil?: number | null,
  ): Promise<Exclude<Begun, 'unallowed'>>
  /** Resolves when a call is recorded as waiting for what its tool needs: why, and until when. */
  queue(
    record: OperationRecord,
    waiting: Pick<OperationRow, 'error' | 'expiresAt'>,
  ): Promise<Exclude<Begun, 'unallowed'>>
  /** An operation that waited runs here from now on. It was leased for this process. */
  adopt(record: OperationRecord, snapshot: OperationSnapshot, options?: { readonly isAwaited: boolean }): void
  /** Notes how far a running call has come. Kept in memory only. */
  progress(id: string, text: string): void
  /** Resolves when it is on record what a running call is to leave behind, and what was there before. */
  keepEffects(id: string, effects: readonly KeptEffect[]): Promise<void>
  /** Resolves when the end of a recorded call is durable; of all others the audit is written in its own time. */
  end(end: OperationEnd): Promise<void> | undefined
  /** Resolves when a recorded call is scheduled for a retry. */
  delay(delay: OperationDelay): Promise<void>
  /** What is running now, with a record or without. */
  running(): readonly RunningOperation[]
  /** The ids of those that run here, or whose end is still to be written, and that have or may have a record. */
  recorded(): readonly string[]
  /** Whether it is one of those. What runs, or is known to have ended, is not begun a second time. */
  isRunning(id: string): boolean
  /** Resolves when an operation that runs here has ended and that is on record; at once when it does not run here. */
  ended(id: string): Promise<void>
  /** Waits for what is running to end, and writes what is left to write. */
  stop(): Promise<void>
}

/** Whether a call is written down before it runs. */
export function isRecorded(
  record: Pick<OperationRecord, 'mutates' | 'needsConsent' | 'ttlMs' | 'idempotencyKey'>,
): boolean {
  const { mutates, needsConsent, ttlMs, idempotencyKey } = record
  return mutates || needsConsent || ttlMs !== undefined || idempotencyKey !== undefined
}
