// @ts-check
import { join } from 'node:path'

/**
 * The floor: a line in a table, written by the bare driver on this thread and synced, as everything acknowledged is.
 * @param {string} dir
 */
export async function openBareDriver(dir) {
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const database = new DatabaseSync(join(dir, 'bare.db'))
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE lines (id INTEGER PRIMARY KEY, line TEXT)',
  )
  const statement = database.prepare('INSERT INTO lines (line) VALUES (?)')
  return { commit: () => void statement.run(LINE), close: () => database.close() }
}

/** About as much as a record has. */
const LINE = 'x'.repeat(600)
