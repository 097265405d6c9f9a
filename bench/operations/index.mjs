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
const PARTS = [
  { part: 'call', options: sizes.call },
  { part: 'http', options: { ...sizes.http, profileDir: values.profile } },
  { part: 'drain', options: sizes.drain },
  { part: 'killed', options: sizes.killed },
]

await runParts({ parts: PARTS, beside: import.meta.url, quickAtOnce: 3, flags: values })
