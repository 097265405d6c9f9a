import { AppError, isAppError, type Row, type Table } from '../../contracts/index.ts'
import { type PlainColumn, type Where, type Write, type WriteKind } from './write.ts'

/** The guard that refused a commit. */
export interface FailedGuard {
  /** The index of the write, from 0. */
  readonly index: number
  readonly kind: WriteKind
  readonly table: Table
  /** The name that the write gave its guard. */
  readonly guard?: string
  /** How many rows the write found. */
  readonly rows: number
}

/** Either all writes are stored and synced, or none. */
export type CommitOutcome =
  | { readonly committed: true /** Rows that each write touched or found. */; readonly rows: readonly number[] }
  | { readonly committed: false; readonly failed: FailedGuard }

/** A query on one table. */
export interface Query<T extends Table, C extends keyof Row<T> = keyof Row<T>> {
  readonly where?: Where<T>
  /** Columns that are never null, the last one unique among equals: paging goes by them. */
  readonly order?: { readonly by: readonly PlainColumn<T>[]; readonly direction?: 'ascending' | 'descending' }
  /** The values of the order columns in the last row of the previous page. */
  readonly after?: readonly (string | number)[]
  /** 100 by default, at most 1,000: a larger page would delay every other request. */
  readonly limit?: number
  /** Only these columns. A list has no use for the results of a thousand operations. */
  readonly columns?: readonly C[]
}

/**
 * Everything durable. What `commit` has answered survives the process and a power cut. Commits are applied one after the
 * other, those of one caller in its order. A read sees every earlier commit of the same caller.
 */
export interface Store {
  /** Applies all writes in order, or none. A failed guard is an answer; an error means that the store failed. */
  commit(writes: readonly Write[]): Promise<CommitOutcome>
  get<T extends Table>(table: T, id: string): Promise<Row<T> | undefined>
  find<T extends Table, C extends keyof Row<T> = keyof Row<T>>(
    table: T,
    query: Query<T, C>,
  ): Promise<readonly Pick<Row<T>, C>[]>
  count<T extends Table>(table: T, where?: Where<T>): Promise<number>
  /** Full-text search over memories. */
  readonly words: WordSearch
}

/** The column that a sealed text belongs to. It opens nowhere else. */
export interface SealContext {
  readonly table: Table
  readonly id: string
  readonly column: string
}

/** Encrypts texts. */
export interface Sealer {
  seal(text: string, context: SealContext): string
  /** Throws when the text was changed, moved, or sealed with a key that is not here. */
  open(sealed: string, context: SealContext): string
}

/** Which memories may be found: those of these scopes, in a range of slots. */
export interface WordScope {
  readonly scopes: readonly string[]
  readonly upTo: number
  /** Only slots above this one. */
  readonly above?: number | undefined
}

/** A word to look for, normalised as in the rows. */
export interface WordLimit {
  readonly word: string
  /** How many rows with it are read; the newest. */
  readonly most: number
}

/** Finds rows by their words. Nothing in a word is query syntax. */
export interface WordSearch {
  /** How many rows have this word, at most `most`. */
  count(word: string, scope: WordScope & { readonly most: number }): Promise<number>
  /** For each word the slots of the newest rows that have it, newest first. */
  newest(words: readonly WordLimit[], scope: WordScope): Promise<readonly (readonly number[])[]>
}

/** A query that is read page by page: its order columns have to be among the columns that it reads. */
type PagedQuery<T extends Table, C extends keyof Row<T>> = Query<T, C> & Required<Pick<Query<T, C>, 'order' | 'limit'>>

/** All rows of a query, a page at a time. Pages are never empty. */
export async function* pagesOf<T extends Table, C extends keyof Row<T> = keyof Row<T>>(
  store: Pick<Store, 'find'>,
  table: T,
  query: PagedQuery<T, C>,
): AsyncGenerator<readonly Pick<Row<T>, C>[]> {
  const { order, limit } = query
  for (let after: Query<T>['after']; ; ) {
    const page = await store.find(table, after ? { ...query, after } : query)
    if (page.length > 0) yield page
    const last = page.at(-1) as Row<T> | undefined
    if (!last || page.length < limit) return
    after = order.by.map(column => last[column] as string | number)
  }
}

/** The largest page of a store. */
const LARGEST_PAGE = 1_000

/** All rows that match, or only these columns of them, in the order of their ids. For small tables. */
export async function allRows<T extends Table, C extends keyof Row<T> = keyof Row<T>>(
  store: Pick<Store, 'find'>,
  table: T,
  where: Where<T>,
  columns?: readonly C[],
): Promise<Pick<Row<T>, C>[]> {
  const found: Pick<Row<T>, C>[] = []
  const read = columns && [...new Set<keyof Row<T>>(['id', ...columns])]
  const query = { where, order: { by: ['id'] }, limit: LARGEST_PAGE, ...(read && { columns: read }) }
  for await (const page of pagesOf(store, table, query as unknown as PagedQuery<T, C>)) found.push(...page)
  return found
}

/** The error for a value that no store keeps: retrying would not help. */
export function unkeepable(column: string, message: string): AppError {
  return new AppError('INTERNAL', message, { details: { unkeepable: column } })
}

/** Whether a commit failed because of its values, not because of the store. */
export function isUnkeepable(error: unknown): boolean {
  return isAppError(error) ? error.details?.unkeepable !== undefined : true
}
