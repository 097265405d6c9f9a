export { type Migration, migrationsFor } from './migrations.ts'
export { type MigrateOptions, migrate } from './migrator.ts'
export { createSqlStore, type SqlStoreDeps } from './sql-store.ts'
export type { GuardedStatement, SqlExecutor, SqlRow, SqlValue, Statement, StatementsOutcome } from './statement.ts'
