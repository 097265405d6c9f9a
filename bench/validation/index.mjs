// @ts-check
import { parseArgs } from 'node:util'
import { runParts } from '../lib/run-parts.mjs'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    profile: { type: 'string' },
  },
})

const sizes = values.quick ? [10_000] : [1_000_000, 8_000_000]

await runParts({ parts: [{ part: 'turn', options: { sizes } }], beside: import.meta.url, flags: values })
