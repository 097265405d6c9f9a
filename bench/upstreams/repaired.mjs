// @ts-check
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { ADD } from '../gateway/workloads.mjs'
import { figure, gap } from '../lib/figure.mjs'
import { saysReady } from '../lib/server-process.mjs'
import { freePort } from './peers.mjs'
import { ADDER, onStage } from './stage.mjs'

/** @typedef {import('../lib/stage.mjs').Contender} Contender */
/** @typedef {import('./peers.mjs').Servers} Servers */
/** @typedef {import('./stage.mjs').Stage} Stage */

const VISIBLE_WITHIN_MS = 2_000
const TOOL = 'adder_add'
const ERAS = /** @type {const} */ ([
  { mode: 'auto', name: 'client of 2026-07-28' },
  { mode: 'legacy', name: 'client in a session' },
])

/**
 * What is wrong with a server, and how it is made right.
 * @typedef {object} Fault
 * @property {string} name
 * @property {(stage: Stage) => Promise<{ servers: Servers, repair: () => Promise<unknown> }>} prepare
 */

/** @type {readonly Fault[]} */
const FAULTS = [
  {
    name: 'its program is missing',
    async prepare(stage) {
      const file = join(await stage.folder(), 'adder.mjs')
      const servers = { adder: { command: process.execPath, args: [file] } }
      return { servers, repair: () => copyFile(ADDER, file) }
    },
  },
  {
    name: 'its port is closed',
    async prepare(stage) {
      const port = await freePort()
      return { servers: { adder: { url: `http://127.0.0.1:${port}/mcp` } }, repair: () => stage.httpServer(port) }
    },
  },
]

/** What clients speak. @typedef {'auto' | 'legacy'} Era */

/**
 * A server that is broken when the gateway starts, and repaired while clients of both eras are connected.
 * @param {{ brokenMs: readonly number[], patienceMs: number }} options
 */
export async function run({ brokenMs, patienceMs }) {
  const rows = []
  for (const fault of FAULTS)
    for (const ms of brokenMs) rows.push(...(await onStage(stage => repairOnce(stage, fault, { ms, patienceMs }))))
  return rows
}

/**
 * @param {Stage} stage
 * @param {Fault} fault
 * @param {{ ms: number, patienceMs: number }} times
 */
async function repairOnce(stage, fault, { ms, patienceMs }) {
  const { servers, repair } = await fault.prepare(stage)
  const { contender } = await stage.product({ servers, tool: ADD, front: 'modern', isReady: saysReady })
  const clients = await Promise.all(ERAS.map(({ mode }) => connect(contender, mode)))
  await wait(ms)
  const repairedAt = performance.now()
  await repair()
  const rows = await Promise.all(
    clients.map(async (client, i) => {
      const what = `${fault.name} for ${ms / 1000} s, ${ERAS[i]?.name}`
      const seen = await firstSight(client, patienceMs).catch(error => gap(what, error))
      if ('reason' in seen) return [seen]
      return [
        figure(`${what}, told`, seen.toldAt - repairedAt, 'ms', VISIBLE_WITHIN_MS),
        figure(`${what}, called`, seen.calledAt - repairedAt, 'ms', VISIBLE_WITHIN_MS),
      ]
    }),
  )
  await Promise.all(clients.map(({ client }) => client.close()))
  return rows.flat()
}

/** @typedef {Awaited<ReturnType<typeof connect>>} Connected */

/**
 * When a client was told, and when it had called the tool.
 * @param {Connected} connected
 * @param {number} patienceMs
 */
async function firstSight({ client, changed }, patienceMs) {
  const toldAt = await Promise.race([changed, wait(patienceMs, undefined, { ref: false })])
  if (toldAt === undefined) throw new Error('The client was not told in time.')
  const { tools } = await client.listTools()
  if (!tools.some(({ name }) => name === TOOL)) throw new Error('The tool is not listed.')
  await client.callTool({ name: TOOL, arguments: { a: 1, b: 2 } })
  return { toldAt, calledAt: performance.now() }
}

/**
 * @param {Contender} contender
 * @param {'auto' | 'legacy'} era
 */
async function connect({ server, token }, era) {
  /** @type {(at: number) => void} */
  let tell = () => {}
  /** @type {Promise<number>} */
  const changed = new Promise(resolve => {
    tell = resolve
  })
  const client = new Client(
    { name: 'bench', version: '1.0.0' },
    {
      versionNegotiation: { mode: era },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => tell(performance.now()) } },
    },
  )
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }))
  return { client, changed }
}
