// @ts-check
import { parseArgs } from 'node:util'
import { FLAGS, runParts } from '../lib/run-parts.mjs'
import { FULL, QUICK } from './sizes.mjs'

const { values } = parseArgs({ options: FLAGS })

const sizes = values.quick ? QUICK : FULL

await runParts({ parts: [{ part: 'call', options: sizes.call }], beside: import.meta.url, flags: values })
