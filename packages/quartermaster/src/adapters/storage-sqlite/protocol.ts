import type { Group, GuardedStatement, SqlRow, Statement, StatementsOutcome } from '../storage-sql/index.ts'

// What the threads say to each other. All of it is data: the worker knows SQL and nothing of our tables and errors, and
// so loads nothing but the driver.

/** What a worker is told when it starts. */
export interface WorkerSettings {
  readonly file: string
  /** One that only reads cannot write by mistake, and does not wait for writers. */
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
      readonly fault: Fault /** Whether it may have been done all the same. */
      readonly isUnknown: boolean
    }

/** What went wrong, as far as SQLite says. */
export interface Fault {
  readonly message: string
  /** SQLite's result code, without its refinements. */
  readonly code?: number
}

export type ToWorker = { readonly kind: 'requests'; readonly requests: readonly Request[] } | { readonly kind: 'close' }

export type FromWorker =
  | { readonly kind: 'answers'; readonly answers: readonly Answer[]; readonly group?: Group }
  /** The file cannot be used, and trying again would not help. */
  | { readonly kind: 'refused'; readonly fault: Fault }
