// @ts-check
import { measureHere, measureInChild } from './child.mjs'
import { brokenIn, verdictOf } from './figure.mjs'
import { describeMachine } from './machine.mjs'
import { renderTable } from './table.mjs'

/** @typedef {import('./figure.mjs').Figure} Figure */
/** @typedef {import('./figure.mjs').Gap} Gap */

/**
 * Measures parts one after the other, each in a process of its own, and prints what came of them. The exit code is 1 when a
 * promise did not hold. Where only is to be seen that they work, all are measured in this process: each one reads the product.
 *
 * @param {object} benchmark
 * @param {readonly { part: string, options: object }[]} benchmark.parts each a file beside the benchmark's own
 * @param {string} benchmark.beside the benchmark's own URL
 * @param {{ json?: boolean | undefined, only?: string | undefined, profile?: string | undefined, quick?: boolean | undefined }} benchmark.flags
 */
export async function runParts({ parts, beside, flags }) {
  const machine = describeMachine()
  const wanted = flags.only?.split(',') ?? parts.map(({ part }) => part)
  const unknown = wanted.filter(name => !parts.some(({ part }) => part === name))
  if (unknown.length > 0) throw new Error(`There is no part ${unknown.join(', ')}.`)
  /** @type {((Figure | Gap) & { part: string })[]} */
  const figures = []
  for (const { part, options } of parts.filter(({ part }) => wanted.includes(part))) {
    console.error(`Measuring ${part}.`)
    const file = new URL(`${part}.mjs`, beside).href
    const profiling = flags.profile === undefined ? {} : { profileDir: flags.profile }
    const task = { file, options, ...profiling }
    const isHere = flags.quick && flags.profile === undefined
    for (const figure of await (isHere ? measureHere(task) : measureInChild(task))) figures.push({ part, ...figure })
  }
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
