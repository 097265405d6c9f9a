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

/** The final states. */
export type EndState = Exclude<OperationState, 'waitingForApproval' | 'queued' | 'leased'>

/** What is known about a call before it runs. */
export interface OperationRecord {
  readonly id: string
  readonly caller: Caller
  readonly tool: string
  readonly definitionHash: string
  readonly mutates: boolean
  readonly retry: RetryPolicy
  readonly digest: string
  /** The arguments as given; sealed before they are stored. */
  readonly input: unknown
  readonly startedAt: number
  /** The operation that made this nested call. */
  readonly parentId: string | undefined
  /** For tasks: how long the result is kept. */
  readonly ttlMs: number | undefined
  readonly needsConsent: boolean
  readonly idempotencyKey: string | undefined
}

/** How a call ended, with its audit entry. */
export interface OperationEnd {
  readonly id: string
  readonly state: EndState
  /** Absent when the tool never ran. */
  readonly outcome: OperationOutcome | undefined
  readonly result: ToolResult | undefined
  /** The whole result, where the caller got only its beginning. */
  readonly pages?: readonly ResultPage[] | undefined
  readonly error: ErrorBody | undefined
  /** Nothing was done, and the same call may be made again: stopping, a disabled tool, too many requests. */
  readonly isRefused?: boolean | undefined
  readonly audit: AuditEntry
  /** Whether the waiting caller got the result; assumed once it is recorded where absent. */
  readonly isDelivered?: IsDelivered | undefined
}

/** A call that could not be done now and is retried. */
export interface OperationDelay {
  readonly id: string
  /** Absent when it waits for a dependency. */
  readonly dueAt: number | undefined
  readonly error: ErrorBody
  /** Only a run uses up an attempt. */
  readonly hasRun: boolean
  readonly audit: AuditEntry
}

/** A call that runs now. */
export interface RunningOperation {
  readonly record: OperationRecord
  readonly progress: string | undefined
}

/** The outcome of recording a call: recorded; its idempotency key exists already; or its grant is gone. */
export type Begun = 'begun' | 'known' | 'unallowed'

/** Records calls before they run, and how they end. */
export interface OperationLog {
  /**
   * Resolves when the record is durable. The consent is checked and used up in the same commit. A call that changes nothing has
   * no record and gets `undefined` synchronously: awaiting a promise would cost it more than the rest of the path.
   */
  begin(record: OperationRecord, consent?: readonly Write[]): Promise<Begun> | undefined
  /** Records a call as waiting for approval, with the request, and until when its caller waits. */
  park(
    record: OperationRecord,
    approval: NewRow<'approvals'>,
    awaitedUntil?: number | null,
  ): Promise<Exclude<Begun, 'unallowed'>>
  /** Records a call as waiting for a dependency: why, and until when. */
  queue(
    record: OperationRecord,
    waiting: Pick<OperationRow, 'error' | 'expiresAt'>,
  ): Promise<Exclude<Begun, 'unallowed'>>
  /** Registers a waiting operation that this process has leased as running. */
  adopt(record: OperationRecord, snapshot: OperationSnapshot, options?: { readonly isAwaited: boolean }): void
  /** Notes the progress of a running call, in memory only. */
  progress(id: string, text: string): void
  /** Records the effects that a running call is to have, as they were before. */
  keepEffects(id: string, effects: readonly KeptEffect[]): Promise<void>
  /** Resolves when the end of a recorded call is durable; the audit of other calls is written in batches. */
  end(end: OperationEnd): Promise<void> | undefined
  /** Resolves when the retry of a recorded call is scheduled. */
  delay(delay: OperationDelay): Promise<void>
  /** Calls that run now, recorded or not. */
  running(): readonly RunningOperation[]
  /** The ids of calls that run here, or whose end is not written yet, and that have or may have a record. */
  recorded(): readonly string[]
  /** Whether it is one of those: they must not be started a second time. */
  isRunning(id: string): boolean
  /** Resolves when the end of an operation that runs here is recorded; immediately when it does not run here. */
  ended(id: string): Promise<void>
  /** Waits for running calls to end, and writes what is left. */
  stop(): Promise<void>
}

/** Whether a call is recorded before it runs. */
export function isRecorded(
  record: Pick<OperationRecord, 'mutates' | 'needsConsent' | 'ttlMs' | 'idempotencyKey'>,
): boolean {
  const { mutates, needsConsent, ttlMs, idempotencyKey } = record
  return mutates || needsConsent || ttlMs !== undefined || idempotencyKey !== undefined
}
