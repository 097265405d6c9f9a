// @ts-check
import { sampleUnit } from '../lib/definitions.mjs'
import { watchLoop } from '../lib/event-loop.mjs'
import { figure } from '../lib/figure.mjs'
import { heapMb, residentMb } from '../lib/memory.mjs'
import { createCore, product } from '../lib/product.mjs'

/** What may come on top of the deadline of the probe that hangs. */
const BUILD_MS = 500
const RESIDENT_MB = 300
/** Longer than this and a `/health` that is asked meanwhile is felt to be slow. */
const HELD_MS = 50

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
  const definingAt = performance.now()
  const units = Array.from({ length: capabilities }, (_, i) =>
    sampleUnit({ key: `shelf_${i}`, tools: toolsEach, from: i * toolsEach, dependency: dependency(i), style }),
  )
  const loop = watchLoop()
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  const core = createCore({ units, settings: { probeTimeoutMs } })
  await core.catalogue.reload()
  const composedAt = performance.now()
  const { user, system } = process.cpuUsage(cpu)
  await core.health.probeNew()
  const readyAt = performance.now()
  const heldMs = await loop.longestMs()
  const resident = residentMb()
  expectActive(core, total - toolsEach)
  await core.stop()
  return [
    figure(`${label}, writing the definitions (not ours)`, startedAt - definingAt, 'ms'),
    figure(`${label}, checked and composed`, composedAt - startedAt, 'ms'),
    figure(`${label}, checked and composed, processor time`, (user + system) / 1000, 'ms'),
    figure(`${label}, until the first probes are done`, readyAt - startedAt, 'ms', probeTimeoutMs + BUILD_MS),
    figure(`${label}, event loop held at most`, heldMs, 'ms', HELD_MS),
    figure(`${label}, resident memory`, resident, 'MB', RESIDENT_MB),
    figure(`${label}, heap in use`, heapMb(), 'MB'),
  ]
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
