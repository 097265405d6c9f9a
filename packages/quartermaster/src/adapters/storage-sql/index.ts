export { type MigrateOptions, type Migration, migrate, migrationsFor } from './migrations.ts'
export { createCounters, createSqlStore, type Group, type SqlStoreDeps, type StoreStatistics } from './sql-store.ts'
export type { GuardedStatement, SqlExecutor, SqlRow, SqlValue, Statement, StatementsOutcome } from './statements.ts'
