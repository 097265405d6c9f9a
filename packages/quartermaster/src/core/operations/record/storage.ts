import type { Nodes, Sealer, SharedTime, Store, StoreNews } from '../../store/index.ts'

/** The store, and what makes arguments unreadable in it. */
export interface Storage {
  readonly store: Store
  readonly sealer: Sealer
  /** Of a store that other processes may work on at the same time: they, news of what they do, and the time they go by. */
  readonly shared?:
    | {
        readonly news: StoreNews
        readonly nodes: Pick<Nodes, 'isAlone' | 'self'>
        readonly time?: SharedTime | undefined
      }
    | undefined
}

/** The way to a store that is opened when something first has to be written. */
export interface StorageAccess {
  /** Opens it, once. Throws `STORE_LOCKED` when another process owns the data folder. */
  open(): Promise<Storage>
  /** The store, if it is open. */
  current(): Storage | undefined
}
