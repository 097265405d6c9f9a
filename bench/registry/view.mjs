// @ts-check
import { sampleUnit } from '../lib/definitions.mjs'
import { HELD_MS, watchLoop } from '../lib/event-loop.mjs'
import { figure } from '../lib/figure.mjs'
import { heapMb } from '../lib/memory.mjs'
import { createCore, startCore } from '../lib/product.mjs'
import { median, p99 } from '../lib/statistics.mjs'
import { bringBack, SWITCHING, switchedDependency, takeDown } from '../lib/switched-dependency.mjs'

const VIEW_MS = 1
/** The cost at 1,000 agents against the cost at 10. */
const GROWTH = 1.5

/**
 * @typedef {object} Options
 * @property {number} capabilities
 * @property {number} toolsEach
 * @property {number} fewAgents
 * @property {number} manyAgents
 * @property {number} changes
 */

/**
 * What one agent sees after a dependency came or went, with few and with many agents configured, taken in turns.
 * @param {Options} options
 */
export async function run(options) {
  const few = await house(options.fewAgents, options)
  const heapBefore = heapMb()
  const many = await house(options.manyAgents, options)
  const first = many.agents.map(agent => timed(() => agent.view()))
  const heapEach = (heapMb() - heapBefore) / options.manyAgents
  for (let i = 0; i < options.changes; i++) for (const one of [few, many]) await changeOnce(one, i)
  const { fewAgents, manyAgents } = options
  const size = `${options.capabilities} capabilities`
  const told = await announceAll(many)
  for (const { core } of [few, many]) await core.stop()
  return [
    figure(`${size}, ${fewAgents} agents, p50`, median(few.samples), 'ms', VIEW_MS),
    figure(`${size}, ${fewAgents} agents, p99`, p99(few.samples), 'ms'),
    figure(`${size}, ${manyAgents} agents, p50`, median(many.samples), 'ms', VIEW_MS),
    figure(`${size}, ${manyAgents} agents, p99`, p99(many.samples), 'ms'),
    figure(`${manyAgents} agents against ${fewAgents}`, median(many.samples) / median(few.samples), 'times', GROWTH),
    figure(`${size}, first view of a generation, p50`, median(first), 'ms'),
    figure(`${manyAgents} agents, heap for each`, heapEach, 'MB'),
    figure(`${manyAgents} followed agents, until all are told`, told.ms, 'ms'),
    figure(`${manyAgents} followed agents, event loop held at most`, told.heldMs, 'ms', HELD_MS),
  ]
}

/** @typedef {Awaited<ReturnType<typeof house>>} House */

/**
 * @param {number} agentCount
 * @param {Options} options
 */
async function house(agentCount, { capabilities, toolsEach }) {
  const dependencies = Array.from({ length: capabilities }, (_, i) => switchedDependency(`service_${i}`))
  const units = dependencies.map(({ definition }, i) =>
    sampleUnit({ key: `shelf_${i}`, tools: toolsEach, from: i * toolsEach, dependency: definition }),
  )
  const granted = Object.fromEntries(dependencies.map((_, i) => [`shelf_${i}`, {}]))
  const names = Array.from({ length: agentCount }, (_, i) => `agent_${i}`)
  const agents = Object.fromEntries(names.map(name => [name, { capabilities: granted }]))
  const core = createCore({ units, agents, settings: SWITCHING })
  await startCore(core)
  const [dependency] = dependencies
  if (!dependency) throw new Error('A view needs at least one capability.')
  const total = capabilities * toolsEach
  /** @type {number[]} */
  const samples = []
  return { core, dependency, agents: names.map(name => core.agents.session(name)), samples, total, toolsEach }
}

/**
 * One dependency goes and comes back; after each, one agent looks. Another one each time, as it is in life.
 * @param {House} house
 * @param {number} i
 */
async function changeOnce({ core, dependency, agents, samples, total, toolsEach }, i) {
  const agent = agents[i % agents.length]
  if (!agent) return
  await takeDown(core, dependency)
  samples.push(timed(() => agent.view()))
  const without = agent.view().tools.length
  await bringBack(core, dependency)
  samples.push(timed(() => agent.view()))
  const withAll = agent.view().tools.length
  if (without !== total - toolsEach || withAll !== total) throw new Error(`A view had ${without} and ${withAll} tools.`)
}

/**
 * Every agent has a live client, and all of them are told that something went away.
 * @param {House} house
 */
async function announceAll({ core, dependency, agents }) {
  for (const agent of agents) agent.view()
  let left = agents.length
  const { promise, resolve } = waiting()
  const stops = agents.map(agent => core.agents.follow(agent, () => --left === 0 && resolve(performance.now())))
  const loop = watchLoop()
  await takeDown(core, dependency)
  const changedAt = performance.now()
  const ms = (await promise) - changedAt
  const heldMs = await loop.longestMs()
  for (const stop of stops) stop()
  return { ms, heldMs }
}

function waiting() {
  /** @type {(at: number) => void} */
  let resolve = () => {}
  /** @type {Promise<number>} */
  const promise = new Promise(done => {
    resolve = done
  })
  return { promise, resolve }
}

/** @param {() => unknown} work */
function timed(work) {
  const startedAt = performance.now()
  work()
  return performance.now() - startedAt
}
