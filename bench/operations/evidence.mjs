// @ts-check
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** @typedef {{ lost: number, doubled: number }} Tally */

/**
 * How many of the letters 0 to `count` - 1 are not there, and how many are there more than once.
 * @param {number} count
 * @param {readonly number[]} found
 * @returns {Tally}
 */
export function tally(count, found) {
  const times = new Map()
  for (const n of found) times.set(n, (times.get(n) ?? 0) + 1)
  const wanted = Array.from({ length: count }, (_, n) => times.get(n) ?? 0)
  return { lost: wanted.filter(seen => seen === 0).length, doubled: wanted.filter(seen => seen > 1).length }
}

/**
 * The letters in a folder, one for each line in any of its files.
 * @param {string} dir
 * @returns {Promise<number[]>}
 */
export async function lettersIn(dir) {
  const names = await readdir(dir)
  const texts = await Promise.all(names.map(name => readFile(join(dir, name), 'utf8')))
  return texts.flatMap(text => [...text.matchAll(/^letter (\d+)$/gm)].map(([, n]) => Number(n)))
}

/**
 * What the store of a process that has ended says: how the operations stand, and how many runs were cut off.
 * @param {string} dir
 */
export async function recordsIn(dir) {
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const database = new DatabaseSync(join(dir, '.quartermaster', 'store.db'), { readOnly: true })
  /** @param {string} sql */
  const count = sql => Number(/** @type {{ n: number }} */ (database.prepare(sql).get()).n)
  try {
    return {
      operations: count(`SELECT count(*) AS n FROM operations WHERE tool IN ${TOOLS}`),
      succeeded: count(`SELECT count(*) AS n FROM operations WHERE tool IN ${TOOLS} AND state = 'succeeded'`),
      unsaid: count(
        `SELECT count(*) AS n FROM operations WHERE tool IN ${TOOLS} AND announced_at IS NULL AND tell_at IS NULL`,
      ),
      cutOffPosts: count(`SELECT count(*) AS n FROM audit WHERE tool = 'post' AND outcome = 'unknown'`),
      cutOffFilings: count(`SELECT count(*) AS n FROM audit WHERE tool = 'file' AND outcome = 'unknown'`),
      foundDone: count(`SELECT count(*) AS n FROM operations WHERE tool = 'file' AND ${FOUND_DONE}`),
    }
  } finally {
    database.close()
  }
}

const TOOLS = "('post', 'file')"
/** Its answer is not the tool's own. */
const FOUND_DONE = "result LIKE '%An earlier run of it was cut off%'"
