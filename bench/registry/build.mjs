// @ts-check
import { sampleUnit } from '../lib/definitions.mjs'
import { HELD_MS, watchLoop } from '../lib/event-loop.mjs'
import { figure } from '../lib/figure.mjs'
import { heapMb, residentMb } from '../lib/memory.mjs'
import { createCore, product } from '../lib/product.mjs'

/** What may come on top of the deadline of the probe that hangs. */
const BUILD_MS = 500
const RESIDENT_MB = 300

/**
 * From nothing to the first round of probes, with one dependency that never answers.
 * @param {object} options
 * @param {number} options.capabilities
 * @param {number} options.toolsEach
 * @param {number} options.probeTimeoutMs
 * @param {string} options.title
 * @param {import('../lib/definitions.mjs').ToolStyle} options.style
 */
export async function run({ capabilities, toolsEach, probeTimeoutMs, title, style }) {
  const total = capabilities * toolsEach
  const label = `${total} tools (${title})`
  const emptyMb = heapMb()
  const definingAt = performance.now()
  const units = Array.from({ length: capabilities }, (_, i) =>
    sampleUnit({ key: `shelf_${i}`, tools: toolsEach, from: i * toolsEach, dependency: dependency(i), style }),
  )
  const definingMs = performance.now() - definingAt
  const definedMb = heapMb()
  const built = await build({ units, settings: { probeTimeoutMs } }, total - toolsEach)
  return [
    figure(`${label}, writing the definitions (not ours)`, definingMs, 'ms'),
    figure(`${label}, checked and composed`, built.composedMs, 'ms'),
    figure(`${label}, checked and composed, processor time`, built.cpuMs, 'ms'),
    figure(`${label}, until the first probes are done`, built.readyMs, 'ms', probeTimeoutMs + BUILD_MS),
    figure(`${label}, event loop held at most`, built.heldMs, 'ms', HELD_MS),
    figure(`${label}, resident memory`, built.residentMb, 'MB', RESIDENT_MB),
    figure(`${label}, heap of the definitions (not ours)`, definedMb - emptyMb, 'MB'),
    figure(`${label}, heap beyond the definitions`, built.heapMb - definedMb, 'MB'),
  ]
}

/**
 * @param {Parameters<typeof createCore>[0]} options
 * @param {number} expected How many tools can be called afterwards.
 */
async function build(options, expected) {
  const loop = watchLoop()
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  const core = createCore(options)
  await core.catalogue.reload()
  const composedMs = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpu)
  await core.health.probeNew()
  const readyMs = performance.now() - startedAt
  const heldMs = await loop.longestMs()
  const memory = { residentMb: residentMb(), heapMb: heapMb() }
  // Looked at after the memory, so that nothing of it was collected before.
  expectActive(core, expected)
  await core.stop()
  return { composedMs, cpuMs: (user + system) / 1000, readyMs, heldMs, ...memory }
}

/** @param {number} i */
function dependency(i) {
  const name = `service_${i}`
  const probe = i === 0 ? () => new Promise(() => {}) : () => true
  return product.defineDependency({ name, probe: { describe: { kind: 'bench', name }, run: async () => probe() } })
}

/**
 * @param {import('../lib/product.mjs').Core} core
 * @param {number} expected
 */
function expectActive({ catalogue, health }, expected) {
  const active = [...catalogue.current().tools.values()].filter(tool => health.availability(tool).active)
  if (active.length === expected) return
  const told = catalogue.problems().slice(0, 3)
  throw new Error(`${active.length} tools are active instead of ${expected}. ${JSON.stringify(told)}`)
}
