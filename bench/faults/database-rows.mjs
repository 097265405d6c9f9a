// @ts-check

/**
 * What is in a database, read beside whoever owns it.
 * @typedef {object} Database
 * @property {(sql: string) => Promise<Record<string, any>[]>} all
 * @property {() => Promise<void>} close
 */

/** @typedef {{ url: string } | { file: string }} DatabasePlace */

/**
 * Everything that is read until it is closed is of one moment.
 * @param {DatabasePlace} place
 * @returns {Promise<Database>}
 */
export async function openDatabase(place) {
  if ('file' in place) return openSqlite(place.file)
  return openPostgres(place.url, 'begin isolation level repeatable read')
}

/**
 * For whoever changes what nobody else has open.
 * @param {DatabasePlace} place
 * @returns {Promise<Database>}
 */
export async function openDatabaseToWrite(place) {
  return 'file' in place ? openSqlite(place.file) : openPostgres(place.url, 'begin')
}

/** @param {string} file @returns {Promise<Database>} */
async function openSqlite(file) {
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const database = new DatabaseSync(file)
  database.exec('PRAGMA busy_timeout = 10000; BEGIN')
  return {
    all: async sql => /** @type {Record<string, any>[]} */ (database.prepare(sql).all()),
    async close() {
      database.exec('COMMIT')
      database.close()
    },
  }
}

/** @param {string} url @param {string} begin @returns {Promise<Database>} */
async function openPostgres(url, begin) {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(begin)
  return {
    all: async sql => (await client.query(sql)).rows,
    async close() {
      await client.query('commit')
      await client.end()
    },
  }
}
