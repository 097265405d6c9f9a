// @ts-check
import { parseArgs } from 'node:util'
import { FLAGS, runParts } from '../lib/run-parts.mjs'

const { values } = parseArgs({ options: FLAGS })

/** What is measured by default, and just enough to see that it works. */
const bridges = values.quick ? { rounds: 1, settleMs: 200 } : { rounds: 5, settleMs: 5_000 }

await runParts({ parts: [{ part: 'bridges', options: bridges }], beside: import.meta.url, flags: values })
