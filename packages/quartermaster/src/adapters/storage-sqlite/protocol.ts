import type { Group, GuardedStatement, SqlRow, Statement, StatementsOutcome } from '../storage-sql/index.ts'

// Messages between threads. They are plain data: the worker knows no tables and no errors of ours, so it loads only the driver.

export interface WorkerSettings {
  readonly file: string
  /** A read-only worker cannot write by mistake, and does not wait for writers. */
  readonly readOnly: boolean
}

export type Work =
  | { readonly kind: 'commit'; readonly statements: readonly GuardedStatement[] }
  | { readonly kind: 'read'; readonly statement: Statement }

export type Request = Work & { readonly id: number }

export type Answer =
  | { readonly id: number; readonly outcome: StatementsOutcome }
  | { readonly id: number; readonly rows: readonly SqlRow[] }
  | {
      readonly id: number
      readonly fault: Fault /** The commit may have happened all the same. */
      readonly isUnknown: boolean
    }

export interface Fault {
  readonly message: string
  /** SQLite's primary result code. */
  readonly code?: number
}

export type ToWorker = { readonly kind: 'requests'; readonly requests: readonly Request[] } | { readonly kind: 'close' }

export type FromWorker =
  | { readonly kind: 'answers'; readonly answers: readonly Answer[]; readonly group?: Group }
  /** The file cannot be used, and a retry would not help. */
  | { readonly kind: 'refused'; readonly fault: Fault }

/** An error as another thread can receive it. In a file of its own, because the reader process loads nothing that it does not need. */
export function toFault(error: unknown): Fault {
  if (!(error instanceof Error)) return { message: String(error) }
  const { message } = error
  return 'errcode' in error && typeof error.errcode === 'number' ? { message, code: error.errcode & 0xff } : { message }
}
