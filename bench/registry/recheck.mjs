// @ts-check
import { setTimeout as wait } from 'node:timers/promises'
import { sampleUnit } from '../lib/definitions.mjs'
import { figure } from '../lib/figure.mjs'
import { createCore, startCore } from '../lib/product.mjs'
import { median, p99 } from '../lib/statistics.mjs'
import { bringBack, SWITCHING, switchedDependency, takeDown } from '../lib/switched-dependency.mjs'

/** How long a probe takes where several callers are to meet at it. */
const PROBE_MS = 20
/** Recovery is one pass over what hangs on the dependency; more than this and something is done for every tool twice. */
const LISTED_MS = 5

/**
 * A dependency with many tools comes back.
 * @param {object} options
 * @param {number} options.tools
 * @param {number} options.callers
 * @param {number} options.repeats
 */
export async function run({ tools, callers, repeats }) {
  const listed = await recoveries(tools, repeats)
  const crowd = await crowded(tools, callers)
  return [
    figure(`${tools} tools, from the probe's answer to all listed, p50`, median(listed), 'ms', LISTED_MS),
    figure(`${tools} tools, from the probe's answer to all listed, p99`, p99(listed), 'ms'),
    figure(`${callers} rechecks at once, probes`, crowd.probes, 'probes', 1),
    figure(`${callers} rechecks at once, beyond the probe of ${PROBE_MS} ms`, crowd.beyondMs, 'ms'),
  ]
}

/**
 * @param {number} tools
 * @param {number} repeats
 */
async function recoveries(tools, repeats) {
  const { core, dependency, seat } = await house(tools)
  const samples = []
  for (let i = 0; i < repeats; i++) {
    await takeDown(core, dependency)
    expectListed(seat, 0)
    await bringBack(core, dependency)
    expectListed(seat, tools)
    samples.push(performance.now() - dependency.state.answeredAt)
  }
  await core.stop()
  return samples
}

/**
 * Everybody asks at the same moment, each for another tool.
 * @param {number} tools
 * @param {number} callers
 */
async function crowded(tools, callers) {
  const { core, dependency, seat } = await house(tools, () => wait(PROBE_MS))
  await takeDown(core, dependency)
  const { state } = dependency
  state.up = true
  state.probes = 0
  const names = Array.from({ length: callers }, (_, i) => `tool:shelf_tool_${i % tools}`)
  await Promise.all(names.map(name => core.health.recheck(name)))
  expectListed(seat, tools)
  const beyondMs = performance.now() - state.answeredAt
  await core.stop()
  return { probes: state.probes, beyondMs }
}

/**
 * @param {number} tools
 * @param {() => Promise<void>} [answerAfter]
 */
async function house(tools, answerAfter) {
  const dependency = switchedDependency('service', answerAfter && { answerAfter })
  const units = [sampleUnit({ key: 'shelf', tools, from: 0, dependency: dependency.definition })]
  const core = createCore({ units, agents: { reader: { capabilities: { shelf: {} } } }, settings: SWITCHING })
  await startCore(core)
  return { core, dependency, seat: core.agents.session('reader') }
}

/**
 * @param {ReturnType<import('../lib/product.mjs').Core['agents']['session']>} seat
 * @param {number} expected
 */
function expectListed(seat, expected) {
  const { length } = seat.view().tools
  if (length !== expected) throw new Error(`${length} tools are listed instead of ${expected}.`)
}
