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
  /** The same letters of the alphabet, and at least one of them in the other case. */
  | { readonly otherCaseOf: Extract<V, string> }

/** Columns that can be looked for: those that hold one text, number, yes or no. */
export type PlainColumn<T extends Table> = {
  [C in keyof Row<T>]: NonNullable<Row<T>[C]> extends string | number | boolean ? C : never
}[keyof Row<T>]

/** Which rows are meant: those for which all of this holds. */
export type Where<T extends Table> = { readonly [C in PlainColumn<T>]?: Condition<Row<T>[C]> }

interface Guarded<T extends Table> {
  readonly table: T
  /** What a failed guard is called when it is told: `grant.unused`. */
  readonly guard?: string
}

/** Adds a row. Its guard fails when one with the same id, or another that must be unique, is there. */
export interface Insert<T extends Table> extends Guarded<T> {
  readonly kind: 'insert'
  readonly row: NewRow<T>
  /** A column whose value is found out inside the commit, whatever the row says. */
  readonly found?: ComputedNumber
}

/**
 * A number that only the commit knows. `next` is one more than the highest among the rows of the table that share these columns
 * with the new one, and 1 when there are none; `copy` is what a row of another table has there, which may be of the same commit.
 */
export type ComputedNumber =
  | { readonly by: 'next'; readonly column: string; readonly within: readonly string[] }
  | { readonly by: 'copy'; readonly column: string; readonly from: Table; readonly id: string }

/** Changes rows. Its guard fails unless as many were there as expected: one, if nothing is said. */
export interface Update<T extends Table> extends Guarded<T> {
  readonly kind: 'update'
  readonly where: Where<T>
  readonly set: Partial<Row<T>>
  readonly rows?: number | 'any'
}

/** Removes rows. Its guard fails unless as many were there as expected: one, if nothing is said. */
export interface Delete<T extends Table> extends Guarded<T> {
  readonly kind: 'delete'
  readonly where: Where<T>
  readonly rows?: number | 'any'
}

/** Writes nothing. Its guard fails unless such a row is there, or is not. */
export interface Check<T extends Table> extends Guarded<T> {
  readonly kind: 'mustExist' | 'mustNotExist'
  readonly where: Where<T>
}

type WriteTo<T extends Table> = Insert<T> | Update<T> | Delete<T> | Check<T>

/** One guarded step of a commit. */
export type Write = { readonly [T in Table]: WriteTo<T> }[Table]
export type WriteKind = Write['kind']

type UpdateOptions<T extends Table> = Omit<Update<T>, 'kind' | 'table'>
type DeleteOptions<T extends Table> = Omit<Delete<T>, 'kind' | 'table'>

/** Adds this row. */
export function insert<T extends Table>(table: T, row: NewRow<T>, guard?: string): Write {
  return step({ kind: 'insert', table, row, ...named(guard) })
}

/**
 * Adds this row with the next number in a column, counted within the rows that share these columns with it. As commits happen
 * one after the other, a reader that has read up to a number has seen all below it, as long as the row with the highest stays.
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

/** Changes the rows that are meant. */
export function update<T extends Table>(table: T, options: UpdateOptions<T>): Write {
  return step({ kind: 'update', table, ...options })
}

/** Removes the rows that are meant. */
export function remove<T extends Table>(table: T, options: DeleteOptions<T>): Write {
  return step({ kind: 'delete', table, ...options })
}

/** Lets the commit through only when such a row is there. */
export function mustExist<T extends Table>(table: T, where: Where<T>, guard?: string): Write {
  return step({ kind: 'mustExist', table, where, ...named(guard) })
}

/** Lets the commit through only when no such row is there. */
export function mustNotExist<T extends Table>(table: T, where: Where<T>, guard?: string): Write {
  return step({ kind: 'mustNotExist', table, where, ...named(guard) })
}

/** The compiler does not see that a step for one of the tables is a step for the union of them. */
function step<T extends Table>(write: WriteTo<T>): Write {
  return write as unknown as Write
}

function named(guard: string | undefined): { guard?: string } {
  return guard === undefined ? {} : { guard }
}
