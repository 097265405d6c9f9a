import type {
  AuditEntry,
  Caller,
  ErrorBody,
  OperationOutcome,
  OperationState,
  ToolResult,
} from '../../contracts/index.ts'

/** What is known about a call that is about to run. */
export interface OperationRecord {
  readonly id: string
  readonly caller: Caller
  readonly tool: string
  readonly definitionHash: string
  readonly mutates: boolean
  readonly digest: string
  /** The arguments as they were given; sealed before they are written anywhere. */
  readonly input: unknown
  readonly startedAt: number
  /** The operation from inside which it was called. */
  readonly parentId: string | undefined
  /** Set for tasks: how long the end is kept. */
  readonly ttlMs: number | undefined
}

/** How a call ended, with its line of the audit. */
export interface OperationEnd {
  readonly id: string
  readonly state: Extract<OperationState, 'succeeded' | 'failed' | 'cancelled' | 'unknown'>
  /** Absent when the tool never ran. */
  readonly outcome: OperationOutcome | undefined
  readonly result: ToolResult | undefined
  readonly error: ErrorBody | undefined
  readonly audit: AuditEntry
}

/** A call that runs now. */
export interface RunningOperation {
  readonly record: OperationRecord
  /** How far it has come, in words. */
  readonly progress: string | undefined
}

/** Where a call is written down before it runs, and how it ended. */
export interface OperationLog {
  /**
   * Resolves when the record is durable. A call that changes nothing has none, and gets `undefined` at once: waiting for
   * nothing would cost it more than all the rest of the path.
   */
  begin(record: OperationRecord): Promise<void> | undefined
  /** Notes how far a running call has come. Kept in memory only. */
  progress(id: string, text: string): void
  /** Resolves when the end of a recorded call is durable; of all others the audit is written in its own time. */
  end(end: OperationEnd): Promise<void> | undefined
  /** What is running now. */
  running(): readonly RunningOperation[]
  /** Waits for what is running to end, and writes what is left to write. */
  stop(): Promise<void>
}

/** Whether a call is written down before it runs. */
export function isRecorded({ mutates, ttlMs }: Pick<OperationRecord, 'mutates' | 'ttlMs'>): boolean {
  return mutates || ttlMs !== undefined
}
