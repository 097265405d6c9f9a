export { type CachingStoreDeps, createCachingStore } from './caching-store.ts'
export { COPIED_TABLES, type CopiedTable, type CopyStoreOptions, copyStore, summaryOf } from './copy-store.ts'
export { createLeases, type Lease, type LeaseStatus, type LeaseStore, type Leases, withLease } from './leases.ts'
export {
  type ChangedRows,
  createSharedTime,
  mergeNews,
  type NewsListener,
  newsOf,
  type SharedTime,
  type SharedTimeDeps,
  type StoreNews,
} from './news.ts'
export { createNodes, type Nodes, type NodesDeps } from './nodes.ts'
export {
  allRows,
  type CommitOutcome,
  type FailedGuard,
  isUnkeepable,
  pagesOf,
  type Query,
  type SealContext,
  type Sealer,
  type Store,
  unkeepable,
  type WordLimit,
  type WordScope,
  type WordSearch,
} from './store.ts'
export {
  type Check,
  type ComputedNumber,
  type Condition,
  type Delete,
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
