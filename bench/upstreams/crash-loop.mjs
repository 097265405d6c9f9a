// @ts-check
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ADD } from '../gateway/workloads.mjs'
import { figure, gap } from '../lib/figure.mjs'
import { median, p99 } from '../lib/statistics.mjs'
import { adder, onStage, PEERS, processesIn, program } from './stage.mjs'
import { failureReasons, failuresOf, latenciesOf, startSteadyLoad } from './steady-load.mjs'

/** @typedef {import('./stage.mjs').Entrant} Entrant */
/** @typedef {import('./stage.mjs').Setting} Setting */
/** @typedef {import('./stage.mjs').Stage} Stage */
/** @typedef {(stage: Stage, setting: Omit<Setting, 'front'>) => Promise<Entrant>} Start */

/**
 * One server ends whenever it is started; calls of another one meanwhile, against calls with nothing wrong. Who stands in
 * front of one program has no other, and is told of as such.
 * @param {{ everyMs: number, forMs: number, quietMs: number }} options
 */
export async function run(options) {
  /** @type {(import('../lib/figure.mjs').Figure | import('../lib/figure.mjs').Gap)[]} */
  const rows = await rowsOf(
    'Quartermaster',
    (stage, setting) => stage.product({ ...setting, front: 'modern' }),
    options,
  )
  for (const { name, front } of PEERS) {
    const theirs = rowsOf(name, (stage, setting) => stage.peer(name, { ...setting, front }), options)
    rows.push(...(await theirs.catch(error => [gap(name, error)])))
  }
  return rows
}

/**
 * @param {string} name
 * @param {Start} start
 * @param {{ everyMs: number, forMs: number, quietMs: number }} options
 */
async function rowsOf(name, start, { quietMs, ...options }) {
  const { looping, starts } = await onStage(async stage => {
    const pids = join(await stage.folder(), 'pids')
    const servers = { adder: program(adder()), loop: program(adder('--exit', `--pids=${pids}`)) }
    const entrant = await start(stage, { servers, tool: ADD })
    return { looping: await underLoad(entrant, options), starts: (await processesIn(pids)).length }
  })
  const quiet = await onStage(async stage =>
    underLoad(await start(stage, { servers: { adder: program(adder()) }, tool: ADD }), { ...options, forMs: quietMs }),
  )
  return [
    figure(`${name}, starts in ${options.forMs / 1000} s and its own`, starts, 'starts'),
    figure(`${name}, another server meanwhile, p50`, median(looping.latencies), 'ms'),
    figure(`${name}, another server meanwhile, p99`, p99(looping.latencies), 'ms'),
    figure(`${name}, with nothing wrong, p50`, median(quiet.latencies), 'ms'),
    figure(`${name}, with nothing wrong, p99`, p99(quiet.latencies), 'ms'),
    figure(`${name}, another server meanwhile, failed`, failuresOf(looping.calls).length, 'calls', 0),
    ...failureReasons(`${name}, another server meanwhile`, looping.calls),
  ]
}

/**
 * @param {Entrant} entrant
 * @param {{ everyMs: number, forMs: number }} options
 */
async function underLoad(entrant, { everyMs, forMs }) {
  const load = startSteadyLoad(entrant, { everyMs })
  await wait(forMs)
  const calls = await load.stop()
  return { latencies: latenciesOf(calls), calls }
}
