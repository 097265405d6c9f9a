export type { CommitOutcome, FailedGuard, Query, SealedPlace, Sealer, Store } from './store.ts'
export { isUnkeepable, unkeepable } from './unkeepable.ts'
export {
  type Check,
  type Condition,
  type Delete,
  type Insert,
  insert,
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
