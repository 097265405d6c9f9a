// @ts-check
import { parseArgs } from 'node:util'
import { measureInChild } from '../lib/child.mjs'
import { verdictOf } from '../lib/figure.mjs'
import { describeMachine } from '../lib/machine.mjs'
import { renderTable } from '../lib/table.mjs'
import { FULL, QUICK } from './sizes.mjs'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    profile: { type: 'string' },
  },
})

const sizes = values.quick ? QUICK : FULL
const PARTS = [
  { part: 'start', options: sizes.start },
  { part: 'commit', options: sizes.commit },
  { part: 'read', options: sizes.read },
]

const machine = describeMachine()
const wanted = values.only?.split(',') ?? PARTS.map(({ part }) => part)
const unknown = wanted.filter(name => !PARTS.some(({ part }) => part === name))
if (unknown.length > 0) throw new Error(`There is no part ${unknown.join(', ')}.`)
const figures = []
for (const { part, options } of PARTS.filter(({ part }) => wanted.includes(part))) {
  console.error(`Measuring ${part}.`)
  const file = new URL(`${part}.mjs`, import.meta.url).href
  const profiling = values.profile === undefined ? {} : { profileDir: values.profile }
  for (const figure of await measureInChild({ file, options, ...profiling })) figures.push({ part, ...figure })
}

if (values.json) {
  const judged = figures.map(figure => ({ ...figure, verdict: verdictOf(figure) }))
  console.log(JSON.stringify({ machine, figures: judged }, null, 2))
} else {
  const { cpu, cores, memoryGb, platform, node, load } = machine
  console.log(renderTable(figures))
  console.log(`\n${cores} cores (${cpu}), ${memoryGb} GB, ${platform}, Node ${node}, load ${load} at the start`)
}
