// @ts-check
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { figure } from '../lib/figure.mjs'
import { heapMb } from '../lib/memory.mjs'
import { createCore, openStorage, product, startCore } from '../lib/product.mjs'
import { median, p99 } from '../lib/statistics.mjs'

/** Of the 0.5 ms that a call may cost the whole gateway. */
const CPU_US = 500
/** What a hundred thousand calls may leave behind: nothing, give or take what the optimiser keeps. */
const LEAK_MB = 2

const JSON_INPUT = /** @type {const} */ ({
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' }, unit: { type: 'string' } },
  required: ['a', 'b'],
  additionalProperties: false,
})
const ZOD_INPUT = z.strictObject({ a: z.number(), b: z.number(), unit: z.string().optional() })
const INPUT = { a: 2, b: 40, unit: 'books' }

/** @param {{ a: number, b: number, unit?: string | undefined }} input */
const add = async ({ a, b, unit }) => `${a + b} ${unit ?? ''}`

const READING = [
  { label: 'zod', tool: 'add_zod' },
  { label: 'JSON Schema', tool: 'add_json' },
]
const RECORDED = { label: 'recorded, synced to disk twice', tool: 'add_recorded' }
const TOOLS = [...READING, RECORDED]

/**
 * A small tool through the call path, against awaiting its handler. All of it is audited in a store, as in `up`.
 * @param {object} options
 * @param {number} options.samples
 * @param {number} options.inFlight
 * @param {number} options.leakCalls
 */
export async function run(options) {
  const dir = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
  const { storage, close } = await openStorage(dir)
  try {
    return await measure(options, storage)
  } finally {
    await close()
    await rm(dir, { recursive: true, force: true })
  }
}

/**
 * @param {Parameters<typeof run>[0]} options
 * @param {Awaited<ReturnType<typeof openStorage>>['storage']} storage
 */
async function measure({ samples, inFlight, leakCalls }, storage) {
  const { core, call } = await house(storage)
  const bare = await timedEach(samples, () => add(INPUT))
  const figures = [figure('bare handler, p50', median(bare), 'µs'), figure('bare handler, p99', p99(bare), 'µs')]
  for (const { label, tool } of READING) {
    const times = await timedEach(samples, () => call(tool))
    figures.push(
      figure(`${label}, p50`, median(times), 'µs'),
      figure(`${label}, p99`, p99(times), 'µs'),
      figure(`${label}, p50 against the bare handler`, median(times) / median(bare), 'times'),
    )
  }
  const recorded = await timedEach(Math.ceil(samples / 100), () => call(RECORDED.tool))
  figures.push(figure(`${RECORDED.label}, p50`, median(recorded) / 1000, 'ms'))
  const { cpuUs, perSecond } = await crowded(samples, inFlight, () => call('add_zod'))
  const growth = await growthOver(leakCalls, inFlight, call)
  if (core.operations.running().length > 0) throw new Error('A call that has ended is still on record.')
  await core.stop()
  return [
    ...figures,
    figure(`zod, ${inFlight} in flight`, perSecond, 'calls/s'),
    figure(`zod, ${inFlight} in flight, processor time of each`, cpuUs, 'µs', CPU_US),
    figure(`heap growth over ${leakCalls} calls`, growth, 'MB', LEAK_MB),
  ]
}

/** @param {Awaited<ReturnType<typeof openStorage>>['storage']} storage */
async function house(storage) {
  const { defineTool, defineCapability, defineDependency } = product
  const short = 'Adds two numbers.'
  const tools = [
    defineTool({ name: 'add_zod', short, mutates: false, input: ZOD_INPUT, handler: add }),
    defineTool({ name: 'add_json', short, mutates: false, input: JSON_INPUT, handler: add }),
    defineTool({ name: 'add_recorded', short, mutates: true, input: ZOD_INPUT, handler: add }),
  ]
  const dependency = defineDependency({ name: 'abacus', probe: () => true })
  const capability = defineCapability({
    key: 'sums',
    short: 'Sums.',
    tools,
    requires: ['abacus'],
    dependencies: [dependency],
  })
  const definitions = { capabilities: [capability], dependencies: [], injections: [] }
  const units = [{ id: 'capabilities/sums.ts', hash: 'sums', definitions }]
  const core = createCore({ units, agents: { clerk: { capabilities: { sums: {} } } }, storage })
  await startCore(core)
  const seat = core.agents.session('clerk')
  /** @param {string} tool */
  const call = async tool => {
    const { result } = await core.calls.call({ session: seat, tool, input: INPUT })
    if (result.isError) throw new Error(`"${tool}" failed: ${JSON.stringify(result.content)}`)
  }
  return { core, call }
}

/**
 * Microseconds of each, after as many again to warm up.
 * @param {number} count
 * @param {() => Promise<unknown>} work
 */
async function timedEach(count, work) {
  for (let i = 0; i < count; i++) await work()
  const samples = []
  for (let i = 0; i < count; i++) {
    const startedAt = performance.now()
    await work()
    samples.push((performance.now() - startedAt) * 1000)
  }
  return samples
}

/**
 * @param {number} count
 * @param {number} inFlight
 * @param {() => Promise<unknown>} work
 */
async function crowded(count, inFlight, work) {
  const startedAt = performance.now()
  const cpu = process.cpuUsage()
  await inParallel(count, inFlight, work)
  const { user, system } = process.cpuUsage(cpu)
  return { cpuUs: (user + system) / count, perSecond: count / ((performance.now() - startedAt) / 1000) }
}

/**
 * @param {number} count
 * @param {number} inFlight
 * @param {(tool: string) => Promise<unknown>} call
 */
async function growthOver(count, inFlight, call) {
  let next = 0
  const work = () => call(TOOLS[next++ % TOOLS.length]?.tool ?? 'add_zod')
  await inParallel(Math.ceil(count / 10), inFlight, work)
  const before = heapMb()
  await inParallel(count, inFlight, work)
  return heapMb() - before
}

/**
 * @param {number} count
 * @param {number} inFlight
 * @param {() => Promise<unknown>} work
 */
async function inParallel(count, inFlight, work) {
  let left = count
  const worker = async () => {
    while (left-- > 0) await work()
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
}
