import type { NewRow, Row, Table } from '../../contracts/index.ts'

/** What a column must be: this value, or a value that compares like this. */
export type Condition<V> =
  | V
  | { readonly in: readonly V[] }
  | { readonly not: V }
  | { readonly below: NonNullable<V> }
  | { readonly atMost: NonNullable<V> }
  | { readonly above: NonNullable<V> }
  | { readonly atLeast: NonNullable<V> }
  /** The same letters, at least one of them in the other case. */
  | { readonly otherCaseOf: Extract<V, string> }

/** Columns that can be queried: those of one text, number or boolean. */
export type PlainColumn<T extends Table> = {
  [C in keyof Row<T>]: NonNullable<Row<T>[C]> extends string | number | boolean ? C : never
}[keyof Row<T>]

/** A filter: all of its conditions must hold. */
export type Where<T extends Table> = { readonly [C in PlainColumn<T>]?: Condition<Row<T>[C]> }

interface Guarded<T extends Table> {
  readonly table: T
  /** The name that a failed guard is reported under: `grant.unused`. */
  readonly guard?: string
}

/** Adds a row. Its guard fails when the id, or another unique value, is taken. */
export interface Insert<T extends Table> extends Guarded<T> {
  readonly kind: 'insert'
  readonly row: NewRow<T>
  /** A column whose value is computed inside the commit, whatever the row says. */
  readonly found?: ComputedNumber
}

/**
 * A number that only the commit knows. `next` is one more than the highest among the rows that share these columns with the new
 * one, and 1 when there are none; `copy` is the value in a row of another table, which may be of the same commit.
 */
export type ComputedNumber =
  | { readonly by: 'next'; readonly column: string; readonly within: readonly string[] }
  | { readonly by: 'copy'; readonly column: string; readonly from: Table; readonly id: string }

/** Changes rows. Its guard fails unless the number of rows is as expected: one by default. */
export interface Update<T extends Table> extends Guarded<T> {
  readonly kind: 'update'
  readonly where: Where<T>
  readonly set: Partial<Row<T>>
  readonly rows?: number | 'any'
}

/** Removes rows. Its guard fails unless the number of rows is as expected: one by default. */
export interface Delete<T extends Table> extends Guarded<T> {
  readonly kind: 'delete'
  readonly where: Where<T>
  readonly rows?: number | 'any'
}

/** Writes nothing. Its guard fails unless such a row exists, or does not. */
export interface Check<T extends Table> extends Guarded<T> {
  readonly kind: 'mustExist' | 'mustNotExist'
  readonly where: Where<T>
}

type WriteTo<T extends Table> = Insert<T> | Update<T> | Delete<T> | Check<T>

/** One guarded step of a commit. */
export type Write = { readonly [T in Table]: WriteTo<T> }[Table]
export type WriteKind = Write['kind']

/** Adds this row. */
export function insert<T extends Table>(table: T, row: NewRow<T>, guard?: string): Write {
  return step({ kind: 'insert', table, row, ...named(guard) })
}

/**
 * Adds this row with the next number in a column, counted within the rows that share these columns with it. Commits are applied
 * one after the other, so a reader that has read up to a number has seen all below it, as long as the highest row stays.
 */
export function insertNext<T extends Table, C extends PlainColumn<T>>(
  table: T,
  row: Omit<NewRow<T>, C>,
  { column, within, guard }: { column: C; within: readonly PlainColumn<T>[]; guard?: string },
): Write {
  const found = { by: 'next', column: String(column), within: within.map(String) } as const
  return step({ kind: 'insert', table, row: row as NewRow<T>, found, ...named(guard) })
}

/** Adds this row with the number that a row of another table has in the column of the same name. */
export function insertCopying<T extends Table, C extends PlainColumn<T>>(
  table: T,
  row: Omit<NewRow<T>, C>,
  { column, from, id, guard }: { column: C; from: Table; id: string; guard?: string },
): Write {
  const found = { by: 'copy', column: String(column), from, id } as const
  return step({ kind: 'insert', table, row: row as NewRow<T>, found, ...named(guard) })
}

/** Changes the rows that match. */
export function update<T extends Table>(table: T, options: Omit<Update<T>, 'kind' | 'table'>): Write {
  return step({ kind: 'update', table, ...options })
}

/** Removes the rows that match. */
export function remove<T extends Table>(table: T, options: Omit<Delete<T>, 'kind' | 'table'>): Write {
  return step({ kind: 'delete', table, ...options })
}

/** Lets the commit through only when such a row exists. */
export function mustExist<T extends Table>(table: T, where: Where<T>, guard?: string): Write {
  return step({ kind: 'mustExist', table, where, ...named(guard) })
}

/** Lets the commit through only when no such row exists. */
export function mustNotExist<T extends Table>(table: T, where: Where<T>, guard?: string): Write {
  return step({ kind: 'mustNotExist', table, where, ...named(guard) })
}

/** The compiler does not see that a write to one of the tables is a `Write`. */
function step<T extends Table>(write: WriteTo<T>): Write {
  return write as unknown as Write
}

function named(guard: string | undefined): { guard?: string } {
  return guard === undefined ? {} : { guard }
}
