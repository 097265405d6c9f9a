// @ts-check
import { HELD_MS, watchLoop } from '../lib/event-loop.mjs'
import { figure } from '../lib/figure.mjs'
import { createCore, gatewayUnit, product, startCore } from '../lib/product.mjs'
import { highest, median, p99 } from '../lib/statistics.mjs'

/** @typedef {import('../lib/product.mjs').SourceUnit} SourceUnit */
/** @typedef {import('../lib/product.mjs').Core} Core */

const FIND_MS = 10

const VERBS = ['read', 'write', 'list', 'delete', 'send', 'plan', 'count', 'merge', 'translate', 'archive']
const THINGS = ['mail', 'report', 'invoice', 'photo', 'contract', 'ticket', 'recipe', 'route', 'forecast', 'meeting']
const PLACES = ['berlin', 'paris', 'oslo', 'rome', 'madrid', 'vienna', 'lisbon', 'dublin', 'athens', 'prague']

/**
 * A question through the whole call path of the gateway view, for an agent that has every tool and for one that has few.
 * @param {object} options
 * @param {number} options.tools
 * @param {number} options.questions
 */
export async function run({ tools, questions }) {
  const core = createCore({ units: [await gatewayUnit(), officeUnit(tools), smallUnit()], agents: AGENTS })
  await startCore(core)
  const loop = watchLoop()
  const first = await onProcessor(() => timed(() => find(core, 'everything', 'read a report')))
  const heldMs = await loop.longestMs()
  for (let i = 0; i < questions; i++) await find(core, 'everything', question(i))
  const { value: all, ms } = await onProcessor(() => each(questions, i => find(core, 'everything', question(i))))
  const some = await each(questions, i => find(core, 'little', question(i)))
  const lists = await each(questions, () => find(core, 'everything', ''))
  await core.stop()
  return [
    figure(`${tools} tools, the first question, which builds the index`, first.value, 'ms'),
    figure(`${tools} tools, the first question, processor time`, first.ms, 'ms'),
    figure(`${tools} tools, event loop held at most by it`, heldMs, 'ms', HELD_MS),
    figure(`${tools} tools, an agent with all, p50`, median(all), 'ms', FIND_MS),
    figure(`${tools} tools, an agent with all, p99`, p99(all), 'ms', FIND_MS),
    figure(`${tools} tools, an agent with all, slowest`, highest(all), 'ms'),
    figure(`${tools} tools, an agent with all, processor time of each`, ms / questions, 'ms', FIND_MS),
    figure(`${tools} tools, an agent with few, p50`, median(some), 'ms', FIND_MS),
    figure(`${tools} tools, an agent with few, p99`, p99(some), 'ms', FIND_MS),
    figure(`${tools} tools, a page of the list, p50`, median(lists), 'ms', FIND_MS),
  ]
}

/** @type {Record<string, import('../lib/product.mjs').AgentConfig>} */
const AGENTS = {
  everything: { capabilities: { office: {}, small: {} }, view: 'gateway' },
  little: { capabilities: { small: {} }, view: 'gateway' },
}

/**
 * @param {Core} core
 * @param {string} agent
 * @param {string} query
 */
async function find(core, agent, query) {
  const { result } = await core.calls.call({
    session: core.agents.session(agent),
    tool: 'find_tools',
    input: { query },
  })
  if (result.isError) throw new Error('find_tools failed.')
}

/** @param {number} i */
function question(i) {
  const one = `${pick(VERBS, i)} the ${pick(THINGS, i * 7)} from ${pick(PLACES, i * 3)}`
  return i % 3 === 0 ? `${one}, then ${pick(VERBS, i + 4)} a ${pick(THINGS, i + 1)}` : one
}

/**
 * @param {readonly string[]} words
 * @param {number} i
 */
function pick(words, i) {
  return words[i % words.length] ?? ''
}

/**
 * Tools that share their words as those of real catalogues do.
 * @param {number} count
 * @returns {SourceUnit}
 */
function officeUnit(count) {
  const tools = Array.from({ length: count }, (_, i) => {
    const [verb, thing] = [pick(VERBS, i), pick(THINGS, Math.floor(i / 10))]
    const place = `${pick(PLACES, Math.floor(i / 100))} ${Math.floor(i / 1000)}`
    return product.defineTool({
      name: `${verb}_${thing}_${i}`,
      short: `Lets you ${verb} one ${thing} of the office in ${place}.`,
      whenToUse: `When a ${thing} of that office is to be looked after. It does not touch those of other offices.`,
      mutates: false,
      input: { type: 'object', properties: { [thing]: { type: 'string', description: `Which ${thing} to ${verb}` } } },
      handler: () => 'done',
    })
  })
  return unitOf('office', tools)
}

/** @returns {SourceUnit} */
function smallUnit() {
  const tools = THINGS.map(thing =>
    product.defineTool({
      name: `find_${thing}`,
      short: `Finds a ${thing}.`,
      mutates: false,
      input: { type: 'object' },
      handler: () => thing,
    }),
  )
  return unitOf('small', tools)
}

/**
 * @param {string} key
 * @param {Parameters<typeof product.defineCapability>[0]['tools']} tools
 * @returns {SourceUnit}
 */
function unitOf(key, tools) {
  const capability = product.defineCapability({ key, short: `All of ${key}.`, tools })
  return { id: key, hash: key, definitions: { capabilities: [capability], dependencies: [], injections: [] } }
}

/**
 * @param {number} times
 * @param {(i: number) => Promise<void>} work
 */
async function each(times, work) {
  const samples = []
  for (let i = 0; i < times; i++) samples.push(await timed(() => work(i)))
  return samples
}

/** @param {() => Promise<void>} work */
async function timed(work) {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

/**
 * What the work gave, and the processor time it took: that hardly moves when others use the machine.
 * @template T
 * @param {() => Promise<T>} work
 */
async function onProcessor(work) {
  const before = process.cpuUsage()
  const value = await work()
  const { user, system } = process.cpuUsage(before)
  return { value, ms: (user + system) / 1000 }
}
