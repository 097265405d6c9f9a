// @ts-check
import { setTimeout as wait } from 'node:timers/promises'
import { watchLoop } from '../lib/event-loop.mjs'
import { figure } from '../lib/figure.mjs'
import { heapMb, residentMb } from '../lib/memory.mjs'
import { product } from '../lib/product.mjs'
import { bringBack, SWITCHING, switchedDependency, takeDown } from '../lib/switched-dependency.mjs'
import { crowd } from './crowd.mjs'
import { fillWithEnded } from './ended-operations.mjs'
import { INPUT, openHouse, withStore } from './house.mjs'

/** @typedef {import('./house.mjs').Core} Core */
/** @typedef {import('../lib/figure.mjs').Figure} Figure */

/** Well under a minute for ten thousand. */
const PER_OPERATION_MS = 3
/** Looking for what is due must not cost more because of what is over. */
const TIMES_WITH_ENDED = 1.5
const SEEDS_IN_FLIGHT = 64
/** Those that are due before the last was called are tried in vain, and soon again. */
const SETTINGS = { ...SWITCHING, retryFirstSeconds: 0.1, retryLongestSeconds: 1, retryAttempts: 100 }
/** It stays closed for as many times as long as calling all of them should take, and this long at least. */
const SEEDING_TIMES = 2.5
const LEAST_CLOSED_MS = 300

/**
 * Retries that wait until what they need is back: for a time that it named, for its health, and beside many that are over.
 * @param {object} options
 * @param {number} options.operations
 * @param {number} options.ended
 */
export async function run({ operations, ended }) {
  const byTime = await drainInOwnStore({ operations, ended: 0, waitsFor: 'time' })
  const byHealth = await drainInOwnStore({ operations, ended: 0, waitsFor: 'health' })
  const beside = await drainInOwnStore({ operations, ended, waitsFor: 'time' })
  return [
    ...figuresOf(`${operations} that waited for their time`, byTime, operations),
    ...figuresOf(`${operations} that waited for what they need`, byHealth, operations),
    ...figuresOf(`${operations} beside ${ended} that are over`, beside, operations),
    figure(
      `${operations} beside ${ended} that are over, against none`,
      beside.ms / byTime.ms,
      'times',
      TIMES_WITH_ENDED,
    ),
  ]
}

/** @typedef {{ ms: number, seedMs: number, heldMs: number, cpuUs: number, grownMb: number, residentMb: number, asideMs?: number }} Drained */

/**
 * @param {string} what
 * @param {Drained} drained
 * @param {number} operations
 * @returns {Figure[]}
 */
function figuresOf(what, { ms, seedMs, asideMs, heldMs, cpuUs, grownMb, residentMb: resident }, operations) {
  return [
    figure(`${what}, called`, operations / (seedMs / 1_000), 'calls/s'),
    ...(asideMs === undefined ? [] : [figure(`${what}, until all are found to lack it`, asideMs, 'ms')]),
    figure(`${what}, until all are done`, ms, 'ms', operations * PER_OPERATION_MS),
    figure(`${what}, done`, operations / (ms / 1_000), 'runs/s'),
    figure(`${what}, processor time of each`, cpuUs, 'µs'),
    figure(`${what}, event loop held at most`, heldMs, 'ms'),
    figure(`${what}, left on the heap`, grownMb, 'MB'),
    figure(`${what}, resident memory`, resident, 'MB'),
  ]
}

/**
 * @param {{ operations: number, ended: number, waitsFor: 'time' | 'health' }} situation
 * @returns {Promise<Drained>}
 */
function drainInOwnStore({ operations, ended, waitsFor }) {
  return withStore(async ({ storage }) => {
    await fillWithEnded(storage, ended)
    const office = openOffice()
    const { capability } = office
    const { core, seat } = await openHouse({ storage, capability, settings: SETTINGS })
    core.work()
    const seedMs = await seed(office, operations, input => core.calls.call({ session: seat, ...input }))
    const heapBefore = heapMb()
    const allDone = reached(core, operations, ({ tool, to }) => tool === 'post' && to === 'succeeded')
    const asideMs = waitsFor === 'health' ? await setAside(core, office, operations) : undefined
    await wait(office.opensIn())
    const { ms, heldMs, cpuUs } = await timed(async () => {
      office.open()
      if (waitsFor === 'health') await bringBack(core, office.dependency)
      await allDone
    })
    const resident = residentMb()
    if (office.posted() !== operations) throw new Error(`${office.posted()} of ${operations} were done.`)
    const grownMb = heapMb() - heapBefore
    await core.stop()
    const drained = { ms, seedMs, heldMs, cpuUs: cpuUs / operations, grownMb, residentMb: resident }
    return asideMs === undefined ? drained : { ...drained, asideMs }
  })
}

/** Something that cannot be done until it is open, and says when that is. */
function openOffice() {
  const dependency = switchedDependency('office')
  /** @type {Set<string>} */
  const posted = new Set()
  let opensAt = 0
  let isOpen = false
  const common = { input: INPUT, idempotent: true, retry: /** @type {const} */ ('replay'), requires: ['office'] }
  const tools = [
    product.defineTool({ name: 'warm_up', short: 'Does nothing.', ...common, handler: () => 'done' }),
    product.defineTool({
      name: 'post',
      short: 'Posts a letter.',
      ...common,
      handler({ n }, { idempotencyKey }) {
        const details = { retryAfterMs: opensAt - Date.now() }
        if (!isOpen) throw new product.AppError('DEPENDENCY_UNAVAILABLE', 'It is closed.', { details })
        posted.add(idempotencyKey)
        return `Posted ${n}.`
      },
    }),
  ]
  return {
    dependency,
    capability: { key: 'post', short: 'Post.', tools, dependencies: [dependency.definition] },
    /** @param {number} ms */
    closeFor(ms) {
      opensAt = Date.now() + ms
    },
    open() {
      isOpen = true
    },
    opensIn: () => Math.max(0, opensAt - Date.now()),
    posted: () => posted.size,
  }
}

/** @typedef {ReturnType<typeof openOffice>} Office */
/** @typedef {{ waiting?: unknown }} Answer */

/**
 * Calls all of them while it is closed, such that all are due at the same moment, which is after the last was called.
 * @param {Office} office
 * @param {number} operations
 * @param {(call: { tool: string, input: object }) => Promise<Answer>} call
 */
async function seed(office, operations, call) {
  const inFlight = SEEDS_IN_FLIGHT
  const count = Math.ceil(operations / 10)
  const { perSecond } = await crowd({ count, inFlight }, n => call({ tool: 'warm_up', input: { n } }))
  office.closeFor(LEAST_CLOSED_MS + (SEEDING_TIMES * 1_000 * operations) / perSecond)
  const startedAt = performance.now()
  await crowd({ count: operations, inFlight }, async n => {
    const { waiting } = await call({ tool: 'post', input: { n } })
    if (!waiting) throw new Error('A call that cannot be done now does not wait.')
  })
  return performance.now() - startedAt
}

/**
 * What it needs falls before they are due, so each is found to lack it, once, and waits for that.
 * @param {Core} core
 * @param {Office} office
 * @param {number} operations
 */
async function setAside(core, office, operations) {
  await takeDown(core, office.dependency)
  const aside = reached(core, operations, ({ from, to }) => from === 'leased' && to === 'queued')
  await wait(office.opensIn())
  const startedAt = performance.now()
  await aside
  return performance.now() - startedAt
}

/**
 * Resolves when so many operations have changed in this way.
 * @param {Core} core
 * @param {number} count
 * @param {(change: { tool: string, from: string | undefined, to: string }) => boolean} isOne
 * @returns {Promise<void>}
 */
function reached(core, count, isOne) {
  /** @type {Set<string>} */
  const seen = new Set()
  return new Promise(resolve => {
    const forget = core.emitter.on('operation.changed', change => {
      if (!isOne(change) || seen.add(change.id).size < count) return
      forget()
      resolve()
    })
  })
}

/** @param {() => Promise<unknown>} work */
async function timed(work) {
  const loop = watchLoop()
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  await work()
  const ms = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpu)
  return { ms, cpuUs: user + system, heldMs: await loop.longestMs() }
}
