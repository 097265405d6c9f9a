import type { Caller } from '../../contracts/index.ts'

/** What is known about a call that is about to run. */
export interface OperationRecord {
  readonly id: string
  readonly caller: Caller
  readonly tool: string
  readonly definitionHash: string
  readonly digest: string
  readonly startedAt: number
}

/** Where a call is written down before it runs. */
export interface OperationLog {
  begin(record: OperationRecord): void
  end(id: string): void
  /** What is running now. */
  running(): readonly OperationRecord[]
}

/** Holds what is running, and nothing of what has ended. */
export function createRunningOperations(): OperationLog {
  const running = new Map<string, OperationRecord>()
  return {
    begin: record => void running.set(record.id, record),
    end: id => void running.delete(id),
    running: () => [...running.values()],
  }
}
