import { AppError, isAppError, type Row, type Table } from '../../contracts/index.ts'
import { type PlainColumn, type Where, type Write, type WriteKind } from './write.ts'

/** The guard that kept a commit from happening. */
export interface FailedGuard {
  /** Which of the writes, counted from 0. */
  readonly index: number
  readonly kind: WriteKind
  readonly table: Table
  /** What the write called it. */
  readonly guard?: string
  /** How many rows there were. */
  readonly rows: number
}

/** All of it is written and synced, or none of it is there. */
export type CommitOutcome =
  | { readonly committed: true /** Rows that each write touched or found. */; readonly rows: readonly number[] }
  | { readonly committed: false; readonly failed: FailedGuard }

/** Which rows, in which order, from where on. */
export interface Query<T extends Table, C extends keyof Row<T> = keyof Row<T>> {
  readonly where?: Where<T>
  /** Columns that are never null, the last one unique among equals: paging goes by them. */
  readonly order?: { readonly by: readonly PlainColumn<T>[]; readonly direction?: 'ascending' | 'descending' }
  /** What the row before the first had in the columns of the order. */
  readonly after?: readonly (string | number)[]
  /** 100 unless said, at most 1,000: a page that is larger would hold up everyone behind it. */
  readonly limit?: number
  /** Only these columns. A list has no use for the results of a thousand operations. */
  readonly columns?: readonly C[]
}

/**
 * Everything durable. What `commit` has answered survives the process and the power. Commits happen one after the
 * other; those of one caller in the order in which it made them. What a caller has committed, its next read sees.
 */
export interface Store {
  /** Applies all writes in their order, or none. A failed guard is an answer; an error means that the store failed. */
  commit(writes: readonly Write[]): Promise<CommitOutcome>
  /** The row with this id. */
  get<T extends Table>(table: T, id: string): Promise<Row<T> | undefined>
  find<T extends Table, C extends keyof Row<T> = keyof Row<T>>(
    table: T,
    query: Query<T, C>,
  ): Promise<readonly Pick<Row<T>, C>[]>
  count<T extends Table>(table: T, where?: Where<T>): Promise<number>
  /** Memories by their words. */
  readonly words: WordSearch
}

/** Where a sealed text belongs. It opens nowhere else. */
export interface SealContext {
  readonly table: Table
  /** The row's id. */
  readonly id: string
  readonly column: string
}

/** Makes texts unreadable without the key. */
export interface Sealer {
  seal(text: string, place: SealContext): string
  /** Throws when the text was changed, moved, or sealed with a key that is not here. */
  open(sealed: string, place: SealContext): string
}

/** Which memories may be found: those of these scopes, up to a slot. */
export interface WordScope {
  readonly scopes: readonly string[]
  /** Up to this slot; what was added later is not there. */
  readonly upTo: number
  /** Only behind this slot. */
  readonly above?: number | undefined
}

/** A word that is looked for, as the words of a row are written. */
export interface WordLimit {
  readonly word: string
  /** How many rows with it are looked at; the newest. */
  readonly most: number
}

/** Finds rows by their words. A word is only ever a word: nothing in it is syntax. */
export interface WordSearch {
  /** How many rows have this word; `most` when there are more. */
  count(word: string, scope: WordScope & { readonly most: number }): Promise<number>
  /** For each of these words the slots of the newest rows that have it, the newest first. */
  newest(words: readonly WordLimit[], scope: WordScope): Promise<readonly (readonly number[])[]>
}

/** As many as one question to the store may answer. */
const PAGE = 1_000

/** All rows that are meant, or only these columns of them, in the order of their ids. For what there is not too much of. */
export async function allRows<T extends Table, C extends keyof Row<T> = keyof Row<T>>(
  store: Pick<Store, 'find'>,
  table: T,
  where: Where<T>,
  columns?: readonly C[],
): Promise<Pick<Row<T>, C>[]> {
  const found: Pick<Row<T>, C>[] = []
  // Paging goes by it.
  const read = columns && [...new Set<keyof Row<T>>(['id', ...columns])]
  for (let after: readonly string[] | undefined; ; ) {
    const query = { where, order: { by: ['id'] }, limit: PAGE, ...(read && { columns: read }), ...(after && { after }) }
    const rows = (await store.find(table, query as unknown as Query<T>)) as readonly Row<T>[]
    found.push(...rows)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return found
    after = [last.id]
  }
}

/** The error for a value that no store keeps: trying it again would not help. */
export function unkeepable(column: string, message: string): AppError {
  return new AppError('INTERNAL', message, { details: { unkeepable: column } })
}

/** Whether a commit failed by what was to be written, not by the store. */
export function isUnkeepable(error: unknown): boolean {
  return isAppError(error) ? error.details?.unkeepable !== undefined : true
}
