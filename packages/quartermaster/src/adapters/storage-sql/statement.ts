import type { ChangedRows } from '../../core/store/index.ts'

export type SqlValue = string | number | Uint8Array | null

/** SQL with what belongs in its places. */
export interface Statement {
  readonly sql: string
  readonly parameters: readonly SqlValue[]
}

/** A statement that spoils its commit unless it touches as many rows as it says. */
export interface GuardedStatement extends Statement {
  /** Whether the rows count that it finds, rather than those that it changes. */
  readonly finds: boolean
  readonly least: number
  readonly most: number
}

/** The rows of every statement; or the first whose guard failed, with its rows. */
export type StatementsOutcome =
  | { readonly done: true; readonly rows: readonly number[] }
  | { readonly done: false; readonly index: number; readonly rows: number }

/** A row as a driver gives it: values in the order of the columns. */
export type SqlRow = readonly SqlValue[]

/** What a database does for us. Neither keeps a transaction open while something else is awaited. */
export interface SqlExecutor {
  /**
   * Runs all in one transaction, synced before it answers; or undoes all at the first guard that fails. Where others share the
   * database they are told the news with it.
   */
  commit(statements: readonly GuardedStatement[], news?: readonly ChangedRows[]): Promise<StatementsOutcome>
  read(statement: Statement): Promise<readonly SqlRow[]>
}

/** A statement that may touch any number of rows. */
export function unguarded(sql: string, parameters: readonly SqlValue[] = []): GuardedStatement {
  return { sql, parameters, finds: false, least: 0, most: Number.POSITIVE_INFINITY }
}
