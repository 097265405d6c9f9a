// @ts-check
import { fileURLToPath } from 'node:url'

/** @typedef {import('../../packages/quartermaster/src/testing/postgres/postgres-server.ts').PostgresServer} PostgresServer */

const SERVER = fileURLToPath(
  new URL('../../packages/quartermaster/src/testing/postgres/postgres-server.ts', import.meta.url),
)

/**
 * A PostgreSQL of our own, the one that the tests have. It is no part of what is built, so it is read from its source.
 * @returns {Promise<PostgresServer>}
 */
export async function startPostgres() {
  const { runnerImport } = await import('vite')
  /** @type {{ module: typeof import('../../packages/quartermaster/src/testing/postgres/postgres-server.ts') }} */
  const { module } = await runnerImport(SERVER)
  return module.startPostgres()
}
