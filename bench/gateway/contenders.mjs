// @ts-check
// What is measured against each other, each in a process of its own.
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startServer } from './server-process.mjs'

/** @typedef {import('./server-process.mjs').ServerProcess} ServerProcess */
/** @typedef {'sums' | 'steps' | 'shelves'} ProjectName */

/**
 * A server, and how it is asked.
 * @typedef {object} Contender
 * @property {string} name
 * @property {ServerProcess} server
 * @property {string} [token]
 * @property {() => Promise<import('./connection.mjs').Connection>} [connect] where HTTP to its address is not the way
 */

/** @param {string} path */
const here = path => fileURLToPath(new URL(path, import.meta.url))
export const BIN = here('../../packages/quartermaster/dist/bin/quartermaster.js')
const AGENT = 'clerk'

/**
 * Does the work with servers that have all ended afterwards, and whose folders are gone.
 * @template T
 * @param {(stage: Stage) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function onStage(work) {
  /** @type {(() => Promise<void>)[]} */
  const endings = []
  try {
    return await work(createStage(endings))
  } finally {
    for (const end of endings.toReversed()) await end()
  }
}

/** @typedef {ReturnType<typeof createStage>} Stage */

/** @param {(() => Promise<void>)[]} endings */
function createStage(endings) {
  /** @param {Parameters<typeof startServer>[0]} options */
  async function start(options) {
    const server = await startServer(options)
    endings.push(server.stop)
    return server
  }

  /** A copy of a project, for this run alone. @param {ProjectName} name */
  async function folderOf(name) {
    const folder = await mkdtemp(join(tmpdir(), 'bench-gateway-'))
    endings.push(() => rm(folder, { recursive: true, force: true }))
    await cp(here(`projects/${name}`), folder, { recursive: true })
    return folder
  }

  return {
    folderOf,
    /** @param {Omit<Parameters<typeof startServer>[0], 'args'> & { cwd: string }} options */
    up: options => start({ ...options, args: [BIN, 'up', '--port', '0', '--json'] }),

    /**
     * The product as users run it.
     * @param {ProjectName} project
     * @param {{ name?: string, env?: Record<string, string>, profile?: string | undefined }} [options]
     * @returns {Promise<Contender>}
     */
    async product(project, { name = 'Quartermaster', env = {}, profile } = {}) {
      const cwd = await folderOf(project)
      const server = await this.up({ cwd, env, ...(profile !== undefined && { profile }) })
      return { name, server, token: await issueToken(cwd) }
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

/** @param {string} cwd */
export async function issueToken(cwd) {
  const args = [BIN, 'tokens', 'create', AGENT, '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd })
  return String(JSON.parse(stdout).token)
}

/**
 * Where the profile of a part goes, if one is wanted.
 * @param {string | undefined} dir
 * @param {string} part
 */
export const profileOf = (dir, part) => (dir === undefined ? undefined : join(dir, `${part}.cpuprofile`))
