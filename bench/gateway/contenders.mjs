// @ts-check
// What is measured against each other, each in a process of its own.
import { cp } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { onStageOf } from '../lib/stage.mjs'

/** @typedef {import('../lib/stage.mjs').Contender} Contender */
/** @typedef {'sums' | 'steps' | 'shelves'} ProjectName */

/** @param {string} path */
const here = path => fileURLToPath(new URL(path, import.meta.url))

/**
 * Does the work with servers that have all ended afterwards, and whose folders are gone.
 * @template T
 * @param {(stage: Stage) => Promise<T>} work
 * @returns {Promise<T>}
 */
export const onStage = work => onStageOf(createStage, work)

/** @typedef {ReturnType<typeof createStage>} Stage */

/** @param {import('../lib/stage.mjs').Ground} ground */
function createStage({ folder, start, up, upWithToken }) {
  /** A copy of a project, for this run alone. @param {ProjectName} name */
  async function folderOf(name) {
    const path = await folder()
    await cp(here(`projects/${name}`), path, { recursive: true })
    return path
  }

  return {
    folderOf,
    up,

    /**
     * The product as users run it.
     * @param {ProjectName} project
     * @param {{ name?: string, env?: Record<string, string>, profile?: string | undefined }} [options]
     * @returns {Promise<Contender>}
     */
    async product(project, { name = 'Quartermaster', env = {}, profile } = {}) {
      const cwd = await folderOf(project)
      return { name, ...(await upWithToken({ cwd, env, ...(profile !== undefined && { profile }) })) }
    },

    /**
     * The same tools served by the SDK alone.
     * @param {ProjectName} project
     * @returns {Promise<Contender>}
     */
    sdkAlone: async project => ({
      name: 'SDK alone',
      server: await start({ args: [here('servers/sdk-alone.mjs'), project] }),
    }),

    /** A POST that knows nothing of MCP. @returns {Promise<Contender>} */
    floor: async () => ({ name: 'bare Hono', server: await start({ args: [here('servers/floor.mjs')] }) }),
  }
}
