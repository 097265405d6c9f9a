// @ts-check
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ADD } from '../gateway/workloads.mjs'
import { figure, gap } from '../lib/figure.mjs'
import { median } from '../lib/statistics.mjs'
import { openPipe } from './pipe.mjs'
import { adder, lastProcessIn, onStage, PEERS, program } from './stage.mjs'
import { failureReasons, failuresOf, startSteadyLoad } from './steady-load.mjs'

/** @typedef {import('../lib/figure.mjs').Figure | import('../lib/figure.mjs').Gap} Row */
/** @typedef {import('./stage.mjs').Entrant} Entrant */
/** @typedef {import('./stage.mjs').Stage} Stage */
/** @typedef {ReturnType<typeof startSteadyLoad>} SteadyLoad */

const BEYOND_ITS_START_MS = 150

/**
 * @typedef {object} Killing
 * @property {number} everyMs between two calls
 * @property {number} kills
 * @property {number} restMs before each kill, so that the one before is history
 * @property {number} hastyMs between three kills in a row
 * @property {number} patienceMs for one that does not come back
 */

/**
 * The server's process is killed under a steady load of calls that only read.
 * @param {Killing} options
 */
export async function run(options) {
  const ownStartMs = await startOfTheServer(5)
  const ours = await onStage(stage => killOurs(stage, options, ownStartMs))
  const theirs = []
  for (const peer of PEERS) theirs.push(...(await onStage(stage => killTheirs(stage, peer, options, ownStartMs))))
  return [figure('the server, from its start to its first answer', ownStartMs, 'ms'), ...ours, ...theirs]
}

/** @param {number} times */
async function startOfTheServer(times) {
  const starts = []
  for (let i = 0; i < times; i++) {
    const { server } = await openPipe(adder())
    starts.push(server.started.ms)
    await server.stop()
  }
  return median(starts)
}

/**
 * @param {Stage} stage
 * @param {Killing} options
 * @param {number} ownStartMs
 * @returns {Promise<Row[]>}
 */
async function killOurs(stage, options, ownStartMs) {
  const pids = join(await stage.folder(), 'pids')
  const servers = { adder: program(adder(`--pids=${pids}`)) }
  const entrant = await stage.product({ servers, tool: ADD, front: 'modern' })
  const { kills, restMs, hastyMs } = options
  const calm = await killTimes(entrant, pids, { ...options, pauses: Array(kills).fill(restMs) })
  const hasty = await killTimes(entrant, pids, { ...options, pauses: [restMs, hastyMs, hastyMs] })
  return [
    ...rowsOf('Quartermaster', calm, { ownStartMs, beyondMs: BEYOND_ITS_START_MS, failed: 0 }),
    ...rowsOf('Quartermaster, three in a row', hasty, { ownStartMs, failed: 0 }),
  ]
}

/**
 * @param {Stage} stage
 * @param {import('./stage.mjs').Peer} peer
 * @param {Killing} options
 * @param {number} ownStartMs
 * @returns {Promise<Row[]>}
 */
async function killTheirs(stage, { name, front }, options, ownStartMs) {
  try {
    const pids = join(await stage.folder(), 'pids')
    const servers = { adder: program(adder(`--pids=${pids}`)) }
    const entrant = await stage.peer(name, { servers, tool: ADD, front })
    const outcome = await killTimes(entrant, pids, { ...options, pauses: [options.restMs, options.restMs] })
    return rowsOf(name, outcome, { ownStartMs })
  } catch (error) {
    return [gap(name, error)]
  }
}

/** @typedef {{ backMs: (number | undefined)[], calls: readonly import('./steady-load.mjs').Call[] }} Outcome */

/**
 * @param {Entrant} entrant
 * @param {string} pids
 * @param {{ everyMs: number, patienceMs: number, pauses: readonly number[] }} options
 * @returns {Promise<Outcome>}
 */
async function killTimes(entrant, pids, { everyMs, patienceMs, pauses }) {
  const load = startSteadyLoad(entrant, { everyMs })
  const backMs = []
  for (const pauseMs of pauses) {
    await wait(pauseMs)
    const killedAt = performance.now()
    process.kill(await lastProcessIn(pids), 'SIGKILL')
    const back = await load.answeredAfter(killedAt, patienceMs)
    backMs.push(back)
    if (back === undefined) break
  }
  return { backMs, calls: await load.stop() }
}

/**
 * @param {string} name
 * @param {Outcome} outcome
 * @param {{ ownStartMs: number, beyondMs?: number, failed?: number }} expected
 * @returns {Row[]}
 */
function rowsOf(name, { backMs, calls }, { ownStartMs, ...goals }) {
  const back = backMs.filter(ms => ms !== undefined)
  const beyond = back.map(ms => ms - ownStartMs)
  return [
    ...(back.length < backMs.length ? [gap(`${name}, back`, 'It did not come back in time.')] : []),
    ...(back.length === 0
      ? []
      : [
          figure(`${name}, back beyond the server's own start`, median(beyond), 'ms', goals.beyondMs),
          figure(`${name}, back beyond the server's own start, at most`, Math.max(...beyond), 'ms'),
        ]),
    figure(`${name}, failed of ${calls.length} calls`, failuresOf(calls).length, 'calls', goals.failed),
    ...failureReasons(name, calls),
  ]
}
