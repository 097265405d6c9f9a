export { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from './sqlite-store.ts'
export type { StoreStatistics } from './statistics.ts'
