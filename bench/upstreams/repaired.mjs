// @ts-check
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { ADD } from '../gateway/workloads.mjs'
import { figure, gap } from '../lib/figure.mjs'
import { saysReady } from '../lib/server-process.mjs'
import { freePort } from './peers.mjs'
import { ADDER, onStage, PEERS } from './stage.mjs'
import { startSteadyLoad } from './steady-load.mjs'

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

/** @typedef {{ ms: number, patienceMs: number }} Times */

/**
 * A server that is broken when the gateway starts, and repaired while clients of both eras are connected. The others are
 * called over and over instead: not all of them tell their clients anything.
 * @param {{ brokenMs: readonly number[], patienceMs: number, everyMs: number }} options
 */
export async function run({ brokenMs, patienceMs, everyMs }) {
  const rows = []
  for (const fault of FAULTS)
    for (const ms of brokenMs) rows.push(...(await onStage(stage => repairOnce(stage, fault, { ms, patienceMs }))))
  const times = { ms: Math.min(...brokenMs), patienceMs }
  for (const fault of FAULTS)
    for (const peer of PEERS)
      rows.push(await onStage(stage => repairTheirs(stage, { peer, fault }, { ...times, everyMs })))
  return rows
}

/**
 * @param {Stage} stage
 * @param {{ peer: import('./stage.mjs').Peer, fault: Fault }} which
 * @param {Times & { everyMs: number }} options
 */
async function repairTheirs(stage, { peer: { name, front }, fault }, { ms, patienceMs, everyMs }) {
  const what = `${fault.name} for ${ms / 1000} s, ${name}, called`
  const { servers, repair } = await fault.prepare(stage)
  try {
    const load = startSteadyLoad(await stage.brokenPeer(name, { servers, tool: ADD, front }), { everyMs })
    await wait(ms)
    const repairedAt = performance.now()
    await repair()
    const backMs = await load.answeredAfter(repairedAt, patienceMs)
    await load.stop()
    return backMs === undefined ? gap(what, 'It was not there in time.') : figure(what, backMs, 'ms')
  } catch (error) {
    return gap(what, error)
  }
}

/**
 * @param {Stage} stage
 * @param {Fault} fault
 * @param {Times} times
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
