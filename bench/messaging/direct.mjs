// @ts-check
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Commits one text and nothing else, with the driver that the product has.
 * @typedef {{ commit: () => Promise<unknown>, close: () => Promise<void> }} Direct
 */

const TEXT = 'x'.repeat(430)
const IN_FLIGHT = 16

/** @param {string | undefined} databaseUrl @returns {Promise<Direct>} */
export async function openDirect(databaseUrl) {
  return databaseUrl === undefined ? inFile() : inDatabase(databaseUrl)
}

/** @returns {Promise<Direct>} */
async function inFile() {
  const dir = await mkdtemp(join(tmpdir(), 'bench-direct-'))
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const database = new DatabaseSync(join(dir, 'direct.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE direct (text TEXT)')
  const statement = database.prepare('INSERT INTO direct VALUES (?)')
  return {
    commit: async () => statement.run(TEXT),
    async close() {
      database.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** @param {string} url @returns {Promise<Direct>} */
async function inDatabase(url) {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString: url, max: IN_FLIGHT })
  await pool.query('create table if not exists direct (text text)')
  return {
    commit: () => pool.query({ name: 'direct', text: 'insert into direct values ($1)', values: [TEXT] }),
    close: () => pool.end(),
  }
}
