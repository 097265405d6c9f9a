// @ts-check
import { parseArgs } from 'node:util'
import { FLAGS, runParts } from '../lib/run-parts.mjs'

const { values } = parseArgs({ options: FLAGS })

const sizes = values.quick ? [10_000] : [1_000_000, 8_000_000]

await runParts({ parts: [{ part: 'turn', options: { sizes } }], beside: import.meta.url, flags: values })
