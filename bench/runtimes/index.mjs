// @ts-check
import { parseArgs } from 'node:util'
import { runParts } from '../lib/run-parts.mjs'
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

await runParts({ parts: [{ part: 'call', options: sizes.call }], beside: import.meta.url, flags: values })
