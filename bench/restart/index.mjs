// @ts-check
import { parseArgs } from 'node:util'
import { runParts } from '../lib/run-parts.mjs'

/** What is measured by default. */
const FULL = { calls: 2_000, restarts: 10, kills: 3, clientsOfEachEra: 2, callersOfEach: 4 }
/** Just enough to see that it works; its numbers mean nothing. @type {typeof FULL} */
const QUICK = { calls: 40, restarts: 2, kills: 1, clientsOfEachEra: 1, callersOfEach: 3 }

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    profile: { type: 'string' },
  },
})

const PARTS = [{ part: 'restarts', options: values.quick ? QUICK : FULL }]

await runParts({ parts: PARTS, beside: import.meta.url, flags: values })
