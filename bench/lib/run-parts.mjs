// @ts-check
import { measureHere, measureInChild } from './child.mjs'
import { brokenIn, verdictOf } from './figure.mjs'
import { describeMachine } from './machine.mjs'
import { renderTable } from './table.mjs'

/** The options of every benchmark of several parts, for `parseArgs`. */
export const FLAGS = /** @type {const} */ ({
  json: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
  only: { type: 'string' },
  profile: { type: 'string' },
})

/**
 * Measures parts one after the other, each in a process of its own, and prints what came of them. The exit code is 1 when a
 * promise did not hold. Where only is to be seen that they work, all are measured in this process: each one reads the product.
 * There several may be measured at once, which mostly wait for processes that they have started.
 *
 * @param {object} benchmark
 * @param {readonly { part: string, options: object }[]} benchmark.parts each a file beside the benchmark's own
 * @param {string} benchmark.beside the benchmark's own URL
 * @param {number} [benchmark.quickAtOnce]
 * @param {{ json?: boolean | undefined, only?: string | undefined, profile?: string | undefined, quick?: boolean | undefined }} benchmark.flags
 */
export async function runParts({ parts, beside, quickAtOnce = 1, flags }) {
  const machine = describeMachine()
  const wanted = flags.only?.split(',') ?? parts.map(({ part }) => part)
  const unknown = wanted.filter(name => !parts.some(({ part }) => part === name))
  if (unknown.length > 0) throw new Error(`There is no part ${unknown.join(', ')}.`)
  const isHere = flags.quick && flags.profile === undefined

  /** @param {{ part: string, options: object }} one */
  async function measure({ part, options }) {
    console.error(`Measuring ${part}.`)
    const file = new URL(`${part}.mjs`, beside).href
    const profiling = flags.profile === undefined ? {} : { profileDir: flags.profile }
    const task = { file, options, ...profiling }
    const measured = await (isHere ? measureHere(task) : measureInChild(task))
    return measured.map(figure => ({ part, ...figure }))
  }

  const chosen = parts.filter(({ part }) => wanted.includes(part))
  const figures = (await someAtOnce(chosen, isHere ? quickAtOnce : 1, measure)).flat()
  const broken = brokenIn(figures)
  for (const what of broken) console.error(`FAILED: ${what}`)
  if (broken.length > 0) process.exitCode = 1
  if (flags.json) {
    const judged = figures.map(figure => ({ ...figure, verdict: verdictOf(figure) }))
    console.log(JSON.stringify({ machine, figures: judged }, null, 2))
    return
  }
  const { cpu, cores, memoryGb, platform, node, load } = machine
  console.log(renderTable(figures))
  console.log(`\n${cores} cores (${cpu}), ${memoryGb} GB, ${platform}, Node ${node}, load ${load} at the start`)
}

/**
 * What came of each, in their order.
 * @template T, R
 * @param {readonly T[]} all
 * @param {number} atOnce
 * @param {(one: T) => Promise<R>} work
 * @returns {Promise<R[]>}
 */
async function someAtOnce(all, atOnce, work) {
  /** @type {R[]} */
  const results = []
  const left = [...all.entries()]
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) results[next[0]] = await work(next[1])
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return results
}
