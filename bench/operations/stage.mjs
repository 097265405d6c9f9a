// @ts-check
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onStageOf } from '../lib/stage.mjs'

const PROJECT = fileURLToPath(new URL('project', import.meta.url))

/**
 * Does the work with servers that have all ended afterwards, and whose folders are gone.
 * @template T
 * @param {(stage: Stage) => Promise<T>} work
 * @returns {Promise<T>}
 */
export const onStage = work => onStageOf(createStage, work)

/** @typedef {ReturnType<typeof createStage>} Stage */

/** @param {import('../lib/stage.mjs').Ground} ground */
function createStage({ folder, upWithToken }) {
  /** A copy of the project, for this run alone. */
  async function officeFolder() {
    const dir = await folder()
    await cp(PROJECT, dir, { recursive: true })
    return dir
  }

  return {
    officeFolder,

    /** @param {string} dir @param {string} name */
    makeFolder: (dir, name) => mkdir(join(dir, name), { recursive: true }),

    /**
     * The product as users run it, in a folder that is there or in a fresh one.
     * @param {{ dir?: string, profile?: string | undefined }} [options]
     */
    async office({ dir: given, profile } = {}) {
      const dir = given ?? (await officeFolder())
      return { dir, ...(await upWithToken({ cwd: dir, ...(profile !== undefined && { profile }) })) }
    },
  }
}
