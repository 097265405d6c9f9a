export { allRows } from './all-rows.ts'
export { COPIED_TABLES, type CopiedTable, type CopyStoreOptions, copyStore, summaryOf } from './copy-store.ts'
export type { Lease, LeasePlace, LeaseStanding } from './lease.ts'
export { createLeases, type Leases } from './leases.ts'
export { type ChangedRows, mergeNews, type NewsListener, newsOf, type StoreNews } from './news.ts'
export { createNodes, type Nodes, type NodesDeps } from './nodes.ts'
export { createRememberingStore, type RememberingStoreDeps } from './remembering-store.ts'
export { createSharedTime, type SharedTime, type SharedTimeDeps } from './shared-time.ts'
export type { CommitOutcome, FailedGuard, Query, SealedPlace, Sealer, Store } from './store.ts'
export { isUnkeepable, unkeepable } from './unkeepable.ts'
export { whileHeld } from './while-held.ts'
export type { WantedWord, WordScope, WordSearch } from './word-search.ts'
export {
  type Check,
  type Condition,
  type Delete,
  type FoundNumber,
  type Insert,
  insert,
  insertCopying,
  insertNext,
  mustExist,
  mustNotExist,
  type PlainColumn,
  remove,
  type Update,
  update,
  type Where,
  type Write,
  type WriteKind,
} from './write.ts'
