// @ts-check
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ADD } from '../gateway/workloads.mjs'
import { figure, gap } from '../lib/figure.mjs'
import { p99 } from '../lib/statistics.mjs'
import { adder, lastProcessIn, onStage, PEERS, program } from './stage.mjs'
import { failureReasons, failuresOf, latenciesOf, startSteadyLoad } from './steady-load.mjs'

/** @typedef {import('../lib/figure.mjs').Figure | import('../lib/figure.mjs').Gap} Row */
/** @typedef {import('./stage.mjs').Gateway} Gateway */
/** @typedef {import('./stage.mjs').Stage} Stage */

/**
 * @typedef {object} Hanging
 * @property {number} everyMs between two calls
 * @property {number} settleMs before it
 * @property {number} patienceMs
 */

/**
 * The server's process is stopped where it stands: its pipes are open and nothing comes. Another server is called
 * meanwhile, by those that stand in front of more than one.
 * @param {Hanging} options
 */
export async function run(options) {
  const ours = await onStage(async stage => {
    const { servers, pids } = await twoServers(stage)
    return hang(await stage.product({ servers, tool: ADD, front: 'modern' }), { ...options, pids, other: 'other' })
  })
  const theirs = []
  for (const peer of PEERS) theirs.push(...(await onStage(stage => hangTheirs(stage, peer, options))))
  return [...ours, ...theirs]
}

/**
 * @param {Stage} stage
 * @param {import('./stage.mjs').Peer} peer
 * @param {Hanging} options
 * @returns {Promise<Row[]>}
 */
async function hangTheirs(stage, { name, front }, options) {
  const { servers, pids } = await twoServers(stage)
  const hasBoth = name === 'mcp-hub'
  try {
    const entrant = await stage.peer(name, { servers: hasBoth ? servers : { adder: servers.adder }, tool: ADD, front })
    return await hang(entrant, { ...options, pids, ...(hasBoth && { other: 'other' }) })
  } catch (error) {
    return [gap(name, error)]
  }
}

/** @param {Stage} stage */
async function twoServers(stage) {
  const pids = join(await stage.folder(), 'pids')
  return { servers: { adder: program(adder(`--pids=${pids}`)), other: program(adder()) }, pids }
}

/**
 * @param {Gateway} gateway
 * @param {Hanging & { pids: string, other?: string }} options
 * @returns {Promise<Row[]>}
 */
async function hang(gateway, { pids, other, everyMs, settleMs, patienceMs }) {
  const { name } = gateway.contender
  const load = startSteadyLoad(gateway, { everyMs })
  const others = other === undefined ? undefined : startSteadyLoad(await gateway.of(other), { everyMs })
  await wait(settleMs)
  const pid = await lastProcessIn(pids)
  const stoppedAt = performance.now()
  process.kill(pid, 'SIGSTOP')
  const backMs = await load.answeredAfter(stoppedAt, patienceMs)
  wake(pid)
  const [calls, meanwhile] = await Promise.all([load.stop(), others?.stop()])
  return [
    backMs === undefined
      ? gap(`${name}, until calls work again`, 'They did not in time.')
      : figure(`${name}, until calls work again`, backMs, 'ms'),
    figure(`${name}, failed of ${calls.length} calls`, failuresOf(calls).length, 'calls'),
    ...failureReasons(name, calls),
    ...(meanwhile === undefined ? [] : rowsOfOther(name, meanwhile)),
  ]
}

/**
 * @param {string} name
 * @param {readonly import('./steady-load.mjs').Call[]} calls
 */
const rowsOfOther = (name, calls) => [
  figure(`${name}, another server meanwhile, p99`, p99(latenciesOf(calls)), 'ms'),
  figure(`${name}, another server meanwhile, failed`, failuresOf(calls).length, 'calls', 0),
  ...failureReasons(`${name}, another server meanwhile`, calls),
]

/** Nobody else would: a stopped process does not even end. @param {number} pid */
function wake(pid) {
  try {
    process.kill(pid, 'SIGCONT')
  } catch {
    // It has been killed, as it should.
  }
}
