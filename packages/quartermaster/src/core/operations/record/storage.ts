import type { Nodes, Sealer, Store, StoreNews } from '../../store/index.ts'

/** The store, and what makes arguments unreadable in it. */
export interface Storage {
  readonly store: Store
  readonly sealer: Sealer
  /** Of a store that other processes may work on at the same time: they, and news of what they do. */
  readonly shared?: { readonly news: StoreNews; readonly nodes: Pick<Nodes, 'isAlone' | 'self'> } | undefined
}

/** The way to a store that is opened when something first has to be written. */
export interface StorageAccess {
  /** Opens it, once. Throws `STORE_LOCKED` when another process owns the data folder. */
  open(): Promise<Storage>
  /** The store, if it is open. */
  current(): Storage | undefined
}
