export { damaged } from './errors.ts'
export { inspectStore, isStoreAbsent, type StoreCondition, storeFile } from './inspect.ts'
export { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from './sqlite-store.ts'
export type { StoreStatistics } from './statistics.ts'
