// @ts-check
import { setTimeout as wait } from 'node:timers/promises'
import { figure } from '../lib/figure.mjs'
import { issueToken } from '../lib/stage.mjs'
import { median } from '../lib/statistics.mjs'
import { onStage } from './contenders.mjs'
import { runRound } from './load.mjs'
import { addCalls } from './workloads.mjs'

/** @typedef {import('../lib/stage.mjs').Contender} Contender */
/** @typedef {import('../lib/server-process.mjs').ServerProcess} ServerProcess */

const READY_MS = 1_000
const RESIDENT_MB = 150

/**
 * From the start of the process until it is ready, and the memory of a process that has worked and rests.
 * @param {object} options
 * @param {number} options.repeats
 * @param {number} options.calls
 * @param {number} options.idleMs
 */
export function run({ repeats, calls, idleMs }) {
  return onStage(async stage => {
    const folder = await stage.folderOf('sums')
    const startOurs = () => stage.up({ cwd: folder })
    const startTheirs = async () => (await stage.sdkAlone('sums')).server
    const first = await startOnce(startOurs)
    const ours = []
    const theirs = []
    for (let i = 0; i < repeats; i++) {
      ours.push(await startOnce(startOurs))
      theirs.push(await startOnce(startTheirs))
    }
    const server = await startOurs()
    const product = { name: 'Quartermaster', server, token: await issueToken(server.url, folder) }
    const rested = await residentAfter([product, await stage.sdkAlone('sums')], { calls, idleMs })
    const readyMs = median(ours.map(({ ms }) => ms))
    return [
      figure('Quartermaster in a fresh folder, ready', first.ms, 'ms'),
      figure('Quartermaster, ready', readyMs, 'ms', READY_MS),
      figure('Quartermaster, ready, processor time', median(ours.map(({ cpuMs }) => cpuMs)), 'ms'),
      figure('SDK alone, ready', median(theirs.map(({ ms }) => ms)), 'ms'),
      figure('SDK alone, ready, processor time', median(theirs.map(({ cpuMs }) => cpuMs)), 'ms'),
      figure('Quartermaster against SDK alone, ready', readyMs / median(theirs.map(({ ms }) => ms)), 'times'),
      ...rested.flatMap(({ name, atOnceMb, idleMb }, i) => {
        const goal = i === 0 ? RESIDENT_MB : undefined
        return [
          figure(`${name}, at once after ${calls} calls, resident memory`, atOnceMb, 'MB'),
          figure(`${name}, idle after ${calls} calls, resident memory`, idleMb, 'MB', goal),
        ]
      }),
    ]
  })
}

/** @param {() => Promise<ServerProcess>} start */
async function startOnce(start) {
  const server = await start()
  await server.stop()
  return server.started
}

/**
 * V8 gives back what it took for work once it has had ten seconds or so of rest: nothing is idle before.
 * @param {readonly Contender[]} contenders
 * @param {{ calls: number, idleMs: number }} options
 */
async function residentAfter(contenders, { calls, idleMs }) {
  const worked = []
  for (const contender of contenders) {
    await runRound({ contender, workload: addCalls(contender) }, { calls, inFlight: 16 })
    worked.push({ ...contender, atOnceMb: contender.server.usage().residentMb })
  }
  await wait(idleMs)
  return worked.map(({ name, server, atOnceMb }) => ({ name, atOnceMb, idleMb: server.usage().residentMb }))
}
