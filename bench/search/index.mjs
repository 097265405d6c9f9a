// @ts-check
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { measureInChild } from '../lib/child.mjs'
import { verdictOf } from '../lib/figure.mjs'
import { describeMachine } from '../lib/machine.mjs'
import { renderTable } from '../lib/table.mjs'

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    json: { type: 'boolean', default: false },
    documents: { type: 'string', default: '10000' },
    profile: { type: 'string' },
  },
})

if (values.data === undefined)
  throw new Error('Say where the data is: --data FOLDER, with tools.jsonl and queries*.jsonl in it.')
const folder = resolve(values.data)
const PARTS = [
  { part: 'quality', options: { folder } },
  { part: 'speed', options: { folder, many: Number(values.documents) } },
]

const machine = describeMachine()
const figures = []
for (const { part, options } of PARTS) {
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
