// @ts-check
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createApiClient } from '../lib/api-client.mjs'
import { startPostgres } from '../lib/postgres.mjs'
import { onStageOf } from '../lib/stage.mjs'
import { openDatabase } from './database-rows.mjs'

/** Short, so that what a reader has left comes to another within a round. */
export const LEASE_MS = 1_000
const CLOCK = new URL('./clock-preload.mjs', import.meta.url).href
/** Longer than ends under load take. */
const END_WITHIN_MS = 20_000
const SETTINGS = {
  requestsPerMinute: 1_000_000,
  requestsAtOnce: 10_000,
  inboxLeaseSeconds: LEASE_MS / 1_000,
  activityDays: 1,
}

/** @typedef {'sqlite' | 'postgres'} StoreKind */
/** @typedef {{ store: StoreKind, rounds: number, seed: number }} FaultOptions */
/** @typedef {Awaited<ReturnType<ReturnType<typeof createStage>['house']>>} House */
/** @typedef {Awaited<ReturnType<House['node']>>} Node */

/**
 * Does the work with processes that have all ended afterwards, and whose folders are gone.
 * @template T
 * @param {(stage: ReturnType<typeof createStage>) => Promise<T>} work
 * @returns {Promise<T>}
 */
export const onStage = work => onStageOf(createStage, work)

/** @param {import('../lib/stage.mjs').Ground} ground */
function createStage({ atEnd, folder, up }) {
  /**
   * A store, and the nodes that work on it.
   * @param {StoreKind} store
   */
  async function house(store) {
    const server = store === 'postgres' ? await startPostgres() : undefined
    if (server) atEnd(server.stop)
    /** @type {string[]} */
    const dirs = []

    /** @returns {Promise<Record<string, string>>} */
    async function env() {
      const [first] = dirs
      if (!server) return {}
      const key = first === undefined ? undefined : await secretIn(first, 'sealing-key').catch(() => undefined)
      return { DATABASE_URL: server.url, ...(key !== undefined && { QUARTERMASTER_SEALING_KEY: key }) }
    }

    /**
     * One more node, in a folder of its own; it can be started again after its end.
     * @param {{ hasOwnClock?: boolean }} [options] whether its clock can be put
     */
    async function node({ hasOwnClock = false } = {}) {
      const dir = await folder()
      await writeFile(join(dir, 'quartermaster.config.json'), JSON.stringify({ settings: SETTINGS }))
      const clock = join(await folder(), 'clock')
      /** How far its clock is ahead of the machine's. @param {number} ms */
      const putClock = ms => writeFile(clock, String(ms))
      await putClock(0)
      const ownClock = { NODE_OPTIONS: `--import ${CLOCK}`, BENCH_CLOCK_FILE: clock }
      const start = async () => up({ cwd: dir, env: { ...(hasOwnClock && ownClock), ...(await env()) } })
      let running = await start()
      dirs.push(dir)
      return {
        url: () => running.url,
        putClock,
        kill: () => running.kill(),
        stop: () => running.stop(END_WITHIN_MS),
        async start() {
          running = await start()
        },
        owner: createApiClient(() => running.url, await secretIn(dir, 'admin-token')),
      }
    }

    /** @returns {import('./database-rows.mjs').DatabasePlace} */
    const place = () => (server ? { url: server.url } : { file: join(dirs[0] ?? '', '.quartermaster', 'store.db') })
    return { node, place, rows: () => openDatabase(place()), server }
  }

  return { house }
}

/** @param {string} dir @param {string} name */
const secretIn = async (dir, name) => (await readFile(join(dir, '.quartermaster', name), 'utf8')).trim()
