// @ts-check
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { runRound } from '../gateway/load.mjs'
import { toolCalls } from '../gateway/workloads.mjs'
import { figure, never } from '../lib/figure.mjs'
import { lettersIn, recordsIn, tally } from './evidence.mjs'
import { onStage } from './stage.mjs'

/** @typedef {import('./stage.mjs').Stage} Stage */
/** @typedef {Awaited<ReturnType<Stage['office']>>} Office */

const SEEDS_IN_FLIGHT = 64
/** It stays closed for as many times as long as calling all of them should take, and this long at least. */
const SEEDING_TIMES = 2.5
const LEAST_CLOSED_MS = 300
/** Nobody need wait longer for ten thousand, whatever the machine. */
const GIVES_UP_MS = 600_000

/**
 * Retries that are done by a process which is killed again and again while it does them. Half of them are run again after
 * a run that was cut off and tell a repeat by its key; of the other half it is looked first whether it was done.
 * @param {object} options
 * @param {number} options.operations
 * @param {number} options.kills
 */
export function run({ operations, kills }) {
  return onStage(async stage => {
    const dir = await stage.officeFolder()
    for (const name of ['posted', 'filed']) await mkdir(join(dir, name))
    const first = await stage.office({ dir })
    const half = Math.floor(operations / 2)
    const opensAt = await seed(first, half)
    await wait(Math.max(0, opensAt - Date.now()))
    await writeFile(join(dir, 'open'), '')
    const startedAt = performance.now()
    const { last, downMs } = await killedOften(stage, first, { operations: half * 2, kills })
    await untilDone(dir, half * 2)
    const ms = performance.now() - startedAt
    await untilSettled(last)
    await last.server.stop()
    return figuresOf({ dir, half, kills, ms, downMs })
  })
}

/**
 * @param {Office} office
 * @param {number} half
 */
async function seed(office, half) {
  const contender = { name: 'Quartermaster', server: office.server, token: office.token }
  const warmUp = toolCalls(contender, { name: 'keep', inputOf: n => ({ n }), isRight: () => true })
  const load = { inFlight: SEEDS_IN_FLIGHT }
  const { perSecond } = await runRound({ contender, workload: warmUp }, { calls: Math.ceil(half / 5), ...load })
  const opensAt = Date.now() + LEAST_CLOSED_MS + (SEEDING_TIMES * 1_000 * half * 2) / perSecond
  await writeFile(join(office.dir, 'opens-at'), String(opensAt))
  for (const name of ['post', 'file']) {
    const workload = toolCalls(contender, {
      name,
      inputOf: n => ({ n: n - 1 }),
      isRight: ({ structuredContent }) => structuredContent?.status === 'waiting',
    })
    await runRound({ contender, workload }, { calls: half, ...load })
  }
  return opensAt
}

/**
 * Kills it in equal steps of what is done, and starts it anew each time.
 * @param {Stage} stage
 * @param {Office} first
 * @param {{ operations: number, kills: number }} plan
 */
async function killedOften(stage, first, { operations, kills }) {
  let last = first
  let downMs = 0
  for (let i = 1; i <= kills; i++) {
    await untilDone(first.dir, (operations * i) / (kills + 1))
    await last.server.kill()
    const killedAt = performance.now()
    last = await stage.office({ dir: first.dir })
    downMs += performance.now() - killedAt
  }
  return { last, downMs }
}

/**
 * Resolves when the letters of so many are there.
 * @param {string} dir
 * @param {number} count
 */
async function untilDone(dir, count) {
  await until(async () => {
    const lists = await Promise.all(['posted', 'filed'].map(name => readdir(join(dir, name))))
    return lists.reduce((sum, { length }) => sum + length, 0) >= count
  })
}

/** Resolves when nothing waits and nothing runs any more. @param {Office} office */
async function untilSettled({ dir, server }) {
  const owner = (await readFile(join(dir, '.quartermaster', 'admin-token'), 'utf8')).trim()
  const headers = { authorization: `Bearer ${owner}`, 'content-type': 'application/json' }
  await until(async () => {
    const listed = await Promise.all(
      ['queued', 'leased'].map(async state => {
        const body = JSON.stringify({ state, limit: 1 })
        const answer = await fetch(`${server.url}/api/v1/control/operations`, { method: 'POST', headers, body })
        return /** @type {{ operations: unknown[] }} */ (await answer.json()).operations.length
      }),
    )
    return listed.every(length => length === 0)
  })
}

/** @param {() => Promise<boolean>} isSo */
async function until(isSo) {
  const givesUpAt = performance.now() + GIVES_UP_MS
  while (!(await isSo())) {
    // What is lost for good never gets there; what is there is counted all the same.
    if (performance.now() > givesUpAt) return
    await wait(20)
  }
}

/** @param {{ dir: string, half: number, kills: number, ms: number, downMs: number }} finished */
async function figuresOf({ dir, half, kills, ms, downMs }) {
  const posted = tally(half, await lettersIn(join(dir, 'posted')))
  const filed = tally(half, await lettersIn(join(dir, 'filed')))
  const tries = (await readFile(join(dir, 'tries'), 'utf8')).split('\n').filter(line => line !== '')
  const records = await recordsIn(dir)
  const { operations, succeeded, unsaid, cutOffPosts, cutOffFilings, foundDone } = records
  const what = `${half * 2} with ${kills} kills`
  /** @param {string} tool */
  const again = tool => tries.filter(line => line.startsWith(tool)).length - half
  return [
    figure(`${what}, until all are done`, ms, 'ms'),
    figure(`${what}, of that without a process that could`, downMs, 'ms'),
    figure(`${what}, done while there was one`, (half * 2) / ((ms - downMs) / 1_000), 'runs/s'),
    figure(`${what}, runs cut off that are run again`, cutOffPosts, 'runs'),
    figure(`${what}, of these begun before`, again('post'), 'runs'),
    figure(`${what}, runs cut off that are looked after first`, cutOffFilings, 'runs'),
    figure(`${what}, of these found done and not run again`, foundDone, 'runs'),
    figure(`${what}, of these begun before and run again`, again('file'), 'runs'),
    never(`${what}, effects that are not there`, posted.lost + filed.lost, 'operations'),
    never(`${what}, effects that are there twice`, posted.doubled + filed.doubled, 'operations'),
    never(`${what}, not on record`, half * 2 - operations, 'operations'),
    never(`${what}, not ended as done`, operations - succeeded, 'operations'),
    never(`${what}, whose end is neither told nor kept to be told`, unsaid, 'operations'),
  ]
}
