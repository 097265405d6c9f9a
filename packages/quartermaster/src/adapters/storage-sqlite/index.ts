export { damaged } from './errors.ts'
export { inspectStore, isStoreAbsent, type StoreCondition, storeFile } from './inspect.ts'
export { createSqliteReaders, type SqliteReaders } from './sqlite-readers.ts'
export { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from './sqlite-store.ts'
