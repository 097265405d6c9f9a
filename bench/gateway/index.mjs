// @ts-check
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { FLAGS, runParts } from '../lib/run-parts.mjs'
import { FULL, QUICK } from './sizes.mjs'

const { values } = parseArgs({ options: FLAGS })

const { profile, ...flags } = values
const sizes = Object.entries(flags.quick ? QUICK : FULL)
// The process of a part is only the load; what is profiled is the product that it starts.
const profiling = profile === undefined ? {} : { profileDir: resolve(profile) }
const parts = sizes.map(([part, size]) => ({ part, options: { ...size, ...profiling } }))

await runParts({ parts, beside: import.meta.url, quickAtOnce: 3, flags })
