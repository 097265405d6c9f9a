export { COPIED_TABLES, type CopiedTable, type CopyStoreOptions, copyStore, summaryOf } from './copy-store.ts'
export { createLeases, type Lease, type LeasePlace, type LeaseStatus, type Leases, whileHeld } from './leases.ts'
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
export { createRememberingStore, type RememberingStoreDeps } from './remembering-store.ts'
export {
  allRows,
  type CommitOutcome,
  type FailedGuard,
  isUnkeepable,
  type Query,
  type SealedPlace,
  type Sealer,
  type Store,
  unkeepable,
  type WantedWord,
  type WordScope,
  type WordSearch,
} from './store.ts'
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
