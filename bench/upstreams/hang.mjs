// @ts-check
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ADD } from '../gateway/workloads.mjs'
import { figure, gap } from '../lib/figure.mjs'
import { p99 } from '../lib/statistics.mjs'
import { adder, lastProcessIn, onStage, program } from './stage.mjs'
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
 * meanwhile.
 * @param {Hanging} options
 */
export async function run(options) {
  const ours = await onStage(async stage => {
    const { servers, pids } = await twoServers(stage)
    return hang(await stage.product({ servers, tool: ADD, front: 'modern' }), pids, options)
  })
  const theirs = onStage(async stage => {
    const { servers, pids } = await twoServers(stage)
    return hang(await stage.peer('mcp-hub', { servers, tool: ADD, front: 'events' }), pids, options)
  })
  return [...ours, ...(await theirs.catch(error => [gap('mcp-hub', error)]))]
}

/** @param {Stage} stage */
async function twoServers(stage) {
  const pids = join(await stage.folder(), 'pids')
  return { servers: { adder: program(adder(`--pids=${pids}`)), other: program(adder()) }, pids }
}

/**
 * @param {Gateway} gateway
 * @param {string} pids
 * @param {Hanging} options
 * @returns {Promise<Row[]>}
 */
async function hang(gateway, pids, { everyMs, settleMs, patienceMs }) {
  const { name } = gateway.contender
  const load = startSteadyLoad(gateway, { everyMs })
  const others = startSteadyLoad(await gateway.of('other'), { everyMs })
  await wait(settleMs)
  const pid = await lastProcessIn(pids)
  const stoppedAt = performance.now()
  process.kill(pid, 'SIGSTOP')
  const backMs = await load.answeredAfter(stoppedAt, patienceMs)
  wake(pid)
  const [calls, meanwhile] = await Promise.all([load.stop(), others.stop()])
  return [
    backMs === undefined
      ? gap(`${name}, until calls work again`, 'They did not in time.')
      : figure(`${name}, until calls work again`, backMs, 'ms'),
    figure(`${name}, failed of ${calls.length} calls`, failuresOf(calls).length, 'calls'),
    ...failureReasons(name, calls),
    figure(`${name}, another server meanwhile, p99`, p99(latenciesOf(meanwhile)), 'ms'),
    figure(`${name}, another server meanwhile, failed`, failuresOf(meanwhile).length, 'calls', 0),
    ...failureReasons(`${name}, another server meanwhile`, meanwhile),
  ]
}

/** Nobody else would: a stopped process does not even end. @param {number} pid */
function wake(pid) {
  try {
    process.kill(pid, 'SIGCONT')
  } catch {
    // It has been killed, as it should.
  }
}
