import type { Row, Table } from '../../contracts/index.ts'
import type { WordSearch } from './word-search.ts'
import type { PlainColumn, Where, Write, WriteKind } from './write.ts'

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
export interface SealedPlace {
  readonly table: Table
  /** The row's id. */
  readonly id: string
  readonly column: string
}

/** Makes texts unreadable for whoever has the store and not the key. */
export interface Sealer {
  seal(text: string, place: SealedPlace): string
  /** Throws when the text was changed, moved, or sealed with a key that is not here. */
  open(sealed: string, place: SealedPlace): string
}
