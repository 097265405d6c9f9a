// @ts-check
// What is measured runs in processes of its own; here they are started, and here they end.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { saysReady, startServer } from './server-process.mjs'

/** @typedef {import('./server-process.mjs').ServerProcess} ServerProcess */
/** @typedef {Parameters<typeof startServer>[0]} StartOptions */

/**
 * A server, and how it is asked.
 * @typedef {object} Contender
 * @property {string} name
 * @property {ServerProcess} server
 * @property {string} [token]
 * @property {() => Promise<import('../gateway/connection.mjs').Connection>} [connect] where HTTP to its address is not the way
 */

const BIN = fileURLToPath(new URL('../../packages/quartermaster/dist/bin/quartermaster.js', import.meta.url))
/** Whom every project of a benchmark describes. */
export const AGENT = 'clerk'

/**
 * Does the work with processes that have all ended afterwards, and whose folders are gone.
 * @template S, T
 * @param {(ground: Ground) => S} build what stands on it
 * @param {(stage: S) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function onStageOf(build, work) {
  /** @type {(() => Promise<unknown>)[]} */
  const endings = []
  try {
    return await work(build(createGround(endings)))
  } finally {
    for (const end of endings.toReversed()) await end()
  }
}

/** @typedef {ReturnType<typeof createGround>} Ground */

/** @param {(() => Promise<unknown>)[]} endings */
function createGround(endings) {
  /** @param {() => Promise<unknown>} end */
  const atEnd = end => void endings.push(end)

  async function folder() {
    const path = await mkdtemp(join(tmpdir(), 'bench-'))
    atEnd(() => rm(path, { recursive: true, force: true }))
    return path
  }

  /** @param {StartOptions} options */
  async function start(options) {
    const server = await startServer(options)
    atEnd(server.stop)
    return server
  }

  /** The product as users run it. @param {Omit<StartOptions, 'args'> & { cwd: string }} options */
  const up = options => start({ ...options, args: [BIN, 'up', '--port', '0', '--json'] })

  /**
   * The same with a token for its agent. Who says when it is ready may need that token, so it is made as soon as anything
   * answers.
   * @param {Omit<StartOptions, 'args' | 'isReady'> & UpOptions} options
   */
  async function upWithToken({ isReady = saysReady, ...options }) {
    /** @type {Promise<string> | undefined} */
    let issued
    const server = await up({
      ...options,
      isReady: async url => {
        issued ??= issueToken(url, options.cwd)
        return isReady(url, await issued)
      },
    })
    return { server, token: await (issued ?? issueToken(server.url, options.cwd)) }
  }

  return { atEnd, folder, start, up, upWithToken }
}

/** @typedef {{ cwd: string, isReady?: ((url: string, token: string) => Promise<boolean>) | undefined }} UpOptions */

/**
 * Asks a running `up` for a token, without the time that a command takes to start.
 * @param {string} url
 * @param {string} cwd
 */
export async function issueToken(url, cwd) {
  const owner = (await readFile(join(cwd, '.quartermaster', 'admin-token'), 'utf8')).trim()
  const answer = await fetch(`${url}/api/v1/control/createToken`, {
    method: 'POST',
    headers: { authorization: `Bearer ${owner}`, 'content-type': 'application/json' },
    body: JSON.stringify({ agent: AGENT }),
  })
  if (!answer.ok) throw new Error(`There is no token: ${await answer.text()}`)
  return /** @type {{ token: string }} */ (await answer.json()).token
}

/**
 * Where the profile of a part goes, if one is wanted.
 * @param {string | undefined} dir
 * @param {string} part
 */
export const profileOf = (dir, part) => (dir === undefined ? undefined : join(dir, `${part}.cpuprofile`))
