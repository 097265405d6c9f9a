// @ts-check
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../lib/postgres.mjs'
import { onStageOf } from '../lib/stage.mjs'

/** @typedef {'sqlite' | 'postgres'} StoreKind */
/** @typedef {{ dir: string, databaseUrl: string | undefined }} Place */

const SETTINGS = { requestsPerMinute: 1_000_000, requestsAtOnce: 10_000, inboxLeaseSeconds: 3_600 }
const AGENT = { capabilities: { inbox: {}, delegation: {} } }
export const AGENTS = /** @type {const} */ (['ada', 'bob'])

/**
 * Does the work with processes that have all ended afterwards, and whose folders are gone.
 * @template T
 * @param {(stage: ReturnType<typeof createStage>) => Promise<T>} work
 * @returns {Promise<T>}
 */
export const onStage = work => onStageOf(createStage, work)

/** @param {import('../lib/stage.mjs').Ground} ground */
function createStage({ atEnd, folder, start, up }) {
  return {
    /** A project of two agents, and the store that it will have. @param {StoreKind} store @returns {Promise<Place>} */
    async place(store) {
      const dir = await folder()
      await mkdir(join(dir, 'agents'))
      await writeFile(join(dir, 'quartermaster.config.json'), JSON.stringify({ settings: SETTINGS }))
      for (const name of AGENTS) await writeFile(join(dir, 'agents', `${name}.json`), JSON.stringify(AGENT))
      const server = store === 'postgres' ? await startPostgres() : undefined
      if (server) atEnd(server.stop)
      return { dir, databaseUrl: server?.url }
    },

    /** A bare server on the same framework, with a commit for each request. @param {Place} place */
    floor({ dir, databaseUrl }) {
      const args = [fileURLToPath(new URL('floor.mjs', import.meta.url))]
      return start({ cwd: dir, args, ...(databaseUrl !== undefined && { env: { DATABASE_URL: databaseUrl } }) })
    },

    /** The product as users run it. @param {Place} place @param {string | undefined} [profile] */
    up({ dir, databaseUrl }, profile) {
      const env = { ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }) }
      return up({ cwd: dir, env, ...(profile !== undefined && { profile }) })
    },
  }
}
