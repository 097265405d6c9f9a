export { parseDatabaseUrl } from './database-address.ts'
export { type DatabaseCondition, inspectPostgres } from './inspect.ts'
export { type LoadPostgresOptions, loadPostgres } from './load-postgres.ts'
export { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from './postgres-store.ts'
