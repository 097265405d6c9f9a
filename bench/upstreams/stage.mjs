// @ts-check
// What stands in front of the same server, each in a process of its own.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connectTo } from '../gateway/load.mjs'
import { bareToolCalls, toolCalls, toolCallsInSession } from '../gateway/workloads.mjs'
import { gap } from '../lib/figure.mjs'
import { AGENT, onStageOf } from '../lib/stage.mjs'
import { openEventConnection } from './event-connection.mjs'
import { startPeer } from './peers.mjs'
import { openPipe } from './pipe.mjs'

/** @typedef {import('../lib/stage.mjs').Contender} Contender */
/** @typedef {import('../gateway/load.mjs').Runner} Runner */
/** @typedef {import('../gateway/workloads.mjs').CalledTool} CalledTool */
/** @typedef {import('../gateway/workloads.mjs').Workload} Workload */
/** @typedef {import('../lib/figure.mjs').Gap} Gap */
/** @typedef {import('./peers.mjs').PeerName} PeerName */
/** @typedef {import('./peers.mjs').Servers} Servers */
/** @typedef {import('./pipe.mjs').Command} Command */

/** How clients speak in front: as from 2026-07-28 on, in sessions, or over the stream that came before both. */
/** @typedef {'modern' | 'sessions' | 'events'} Front */

/** Somebody to be measured, who can be asked anew where a session was lost. @typedef {Runner & { open: () => Promise<Workload> }} Entrant */

/** Somebody in front of several servers; one entrant calls the first of them. @typedef {Entrant & { of: (server: string) => Promise<Entrant> }} Gateway */

/** @typedef {{ servers: Servers, tool: CalledTool, front: Front }} Setting */

/** @typedef {{ name: PeerName, front: Front }} Peer */

/** Each spoken to as it does best. @type {readonly Peer[]} */
export const PEERS = [
  { name: 'mcp-proxy', front: 'modern' },
  { name: 'supergateway', front: 'sessions' },
  { name: 'mcp-hub', front: 'events' },
]

/** @param {string} path */
const here = path => fileURLToPath(new URL(path, import.meta.url))
/** The file of the small server. */
export const ADDER = here('servers/adder.mjs')

/** The small server, with flags of its own. @param {string[]} flags @returns {Command} */
export const adder = (...flags) => [process.execPath, ADDER, ...flags]

/** @param {Command} command */
export const program = ([command, ...args]) => ({ command, args })

/**
 * Does the work with processes that have all ended afterwards, and whose folders are gone.
 * @template T
 * @param {(stage: Stage) => Promise<T>} work
 * @returns {Promise<T>}
 */
export const onStage = work => onStageOf(createStage, work)

/** @typedef {ReturnType<typeof createStage>} Stage */

/** @param {import('../lib/stage.mjs').Ground} ground */
function createStage({ atEnd, folder, start, upWithToken }) {
  return {
    folder,

    /** The server itself over HTTP. @param {number} [port] */
    httpServer: (port = 0) => start({ args: [ADDER, `--http=${port}`] }),

    /**
     * The server itself, with nobody in between.
     * @param {Command} command
     * @param {{ tool: CalledTool, isModern: boolean }} options
     * @returns {Promise<Entrant>}
     */
    async directStdio(command, options) {
      const pipe = await openPipe(command)
      atEnd(pipe.server.stop)
      return entrant({ name: 'direct stdio', ...pipe }, async () => bareToolCalls(options.tool, options))
    },

    /**
     * @param {Asking} asking
     * @returns {Promise<Entrant>}
     */
    async directHttp({ tool, front }) {
      const contender = { name: 'direct HTTP', server: await this.httpServer() }
      return entrant(contender, () => workloadFor(contender, { tool, front }))
    },

    /**
     * The least that can stand in between.
     * @param {Command} command
     * @param {CalledTool} tool
     * @param {Front} [front]
     * @returns {Promise<Entrant>}
     */
    async bridge(command, tool, front = 'modern') {
      const contender = {
        name: 'bridge by hand',
        server: await start({ args: [here('servers/bridge.mjs'), ...command] }),
      }
      return entrant(contender, () => workloadFor(contender, { tool, front }))
    },

    /**
     * The same for a server that is reached by HTTP.
     * @param {string} url
     * @param {CalledTool} tool
     * @returns {Promise<Entrant>}
     */
    async httpBridge(url, tool) {
      const contender = {
        name: 'bridge by hand',
        server: await start({ args: [here('servers/http-bridge.mjs'), url] }),
      }
      return entrant(contender, () => workloadFor(contender, { tool, front: 'modern' }))
    },

    /**
     * What people write who take the SDK for both ends.
     * @param {Command} command
     * @param {CalledTool} tool
     * @returns {Promise<Entrant>}
     */
    async sdkBridge(command, tool) {
      const contender = {
        name: 'bridge by hand with the SDK',
        server: await start({ args: [here('servers/sdk-bridge.mjs'), ...command] }),
      }
      return entrant(contender, () => workloadFor(contender, { tool, front: 'modern' }))
    },

    /**
     * The product as users run it.
     * @param {Setting & { name?: string, profile?: string | undefined, isReady?: (url: string) => Promise<boolean> }} setting
     * @returns {Promise<Gateway>}
     */
    async product({ name = 'Quartermaster', servers, tool, front, profile, isReady }) {
      const cwd = await folder()
      await writeProject(cwd, servers)
      const names = namesWith('_', { servers, tool, front })
      const answers = (/** @type {string} */ url, /** @type {string} */ token) => readiness({ token }, names.first)(url)
      const { server, token } = await upWithToken({
        cwd,
        isReady: isReady ?? answers,
        ...(profile !== undefined && { profile }),
      })
      return gateway({ name, server, token }, names)
    },

    /**
     * @param {PeerName} name
     * @param {Setting} setting
     * @returns {Promise<Gateway>}
     */
    async peer(name, { servers, tool, front }) {
      const names = namesWith(name === 'mcp-hub' ? '__' : undefined, { servers, tool, front })
      const server = await startPeer(name, { servers, isReady: readiness({}, names.first) })
      atEnd(server.stop)
      return { ...(await gateway(withConnect({ name, server }, front), names)), isGuest: true }
    },

    /**
     * One whose server is broken: ready is who listens, and a session is opened when that can be done.
     * @param {PeerName} name
     * @param {Setting} setting
     * @returns {Promise<Entrant>}
     */
    async brokenPeer(name, { servers, tool, front }) {
      const { first } = namesWith(name === 'mcp-hub' ? '__' : undefined, { servers, tool, front })
      const server = await startPeer(name, { servers, isReady: listens })
      atEnd(server.stop)
      const contender = withConnect({ name, server }, front)
      const workload = () => {
        throw new Error('There is no session.')
      }
      return { contender, open: () => workloadFor(contender, first), workload }
    },

    /**
     * Those that can be had, and why the others cannot.
     * @param {readonly Peer[]} peers
     * @param {Omit<Setting, 'front'>} setting
     */
    async peers(peers, setting) {
      /** @type {{ entrants: Entrant[], gaps: Gap[] }} */
      const found = { entrants: [], gaps: [] }
      for (const { name, front } of peers) {
        try {
          found.entrants.push(await this.peer(name, { ...setting, front }))
        } catch (error) {
          found.gaps.push(gap(name, error))
        }
      }
      return found
    },
  }
}

/** @typedef {Pick<Setting, 'tool' | 'front'>} Asking */

/**
 * What the tool is called in front, for each server: gateways of several put the server's name before it.
 * @param {string | undefined} between
 * @param {Setting} setting
 */
function namesWith(between, { servers, tool, front }) {
  /** @param {string} server @returns {Asking} */
  const of = server => ({
    tool: between === undefined ? tool : { ...tool, name: `${server}${between}${tool.name}` },
    front,
  })
  return { of, first: of(Object.keys(servers)[0] ?? '') }
}

/**
 * @param {Contender} contender
 * @param {ReturnType<typeof namesWith>} names
 * @returns {Promise<Gateway>}
 */
async function gateway(contender, names) {
  /** @param {Asking} asking */
  const asked = asking => entrant(contender, () => workloadFor(contender, asking))
  return { ...(await asked(names.first)), of: server => asked(names.of(server)) }
}

/**
 * @param {Contender} contender
 * @param {() => Promise<Workload>} open
 * @returns {Promise<Entrant>}
 */
async function entrant(contender, open) {
  return { contender, open, workload: await open() }
}

/**
 * @param {Contender} contender
 * @param {Asking} asking
 * @returns {Promise<Workload>}
 */
async function workloadFor(contender, { tool, front }) {
  if (front === 'events') return bareToolCalls(tool, { isModern: false })
  return front === 'modern' ? toolCalls(contender, tool) : toolCallsInSession(contender, '/mcp', tool)
}

/**
 * @param {Contender} contender
 * @param {Front} front
 * @returns {Contender}
 */
function withConnect(contender, front) {
  return front === 'events' ? { ...contender, connect: () => openEventConnection(contender, '/mcp') } : contender
}

/** Who has not answered by then is asked again: some forget what came before they were ready. */
const ANSWER_WITHIN_MS = 1_000

/**
 * Ready is who answers a call rightly.
 * @param {{ token?: string }} caller
 * @param {Asking} asking
 */
function readiness(caller, asking) {
  /** @param {string} url */
  return async url => {
    const usage = () => ({ cpuUs: 0, residentMb: 0 })
    const server = { url, usage, started: { ms: 0, cpuMs: 0 }, stop: async () => {} }
    const contender = withConnect({ name: url, server, ...caller }, asking.front)
    const call = async () => {
      const { text, isRight } = (await workloadFor(contender, asking))()
      const connection = await connectTo(contender)
      const answer = await connection.ask(text)
      connection.close()
      return isRight(answer)
    }
    // Whoever does not listen yet, or says no, is not ready.
    return Promise.race([call(), tooLate()]).catch(() => false)
  }
}

/**
 * Whether anybody answers there, whatever it says.
 * @param {string} url
 */
const listens = url =>
  fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) }).then(
    async answer => {
      await answer.body?.cancel()
      return true
    },
    () => false,
  )

/** @returns {Promise<boolean>} */
const tooLate = () => new Promise(resolve => setTimeout(resolve, ANSWER_WITHIN_MS, false).unref())

/**
 * @param {string} folder
 * @param {Servers} servers
 */
async function writeProject(folder, servers) {
  await mkdir(join(folder, 'agents'))
  const capabilities = Object.fromEntries(Object.keys(servers).map(name => [name, {}]))
  await writeFile(join(folder, 'agents', `${AGENT}.json`), JSON.stringify({ capabilities }))
  await writeFile(join(folder, 'quartermaster.config.json'), JSON.stringify({ mcpServers: servers }))
}

/**
 * The process of a server that runs, if any does.
 * @param {string} file
 */
export async function lastProcessIn(file) {
  const last = (await processesIn(file)).at(-1)
  if (last === undefined) throw new Error('The server has never been started.')
  return last
}

/**
 * The processes that a server has had so far, as it wrote them down.
 * @param {string} file
 */
export async function processesIn(file) {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text.split('\n').filter(Boolean).map(Number)
}
