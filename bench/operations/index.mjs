// @ts-check
import { parseArgs } from 'node:util'
import { FLAGS, runParts } from '../lib/run-parts.mjs'
import { FULL, QUICK } from './sizes.mjs'

const { values } = parseArgs({ options: FLAGS })

const sizes = values.quick ? QUICK : FULL
const PARTS = [
  { part: 'call', options: sizes.call },
  { part: 'http', options: { ...sizes.http, profileDir: values.profile } },
  { part: 'drain', options: sizes.drain },
  { part: 'killed', options: sizes.killed },
]

await runParts({ parts: PARTS, beside: import.meta.url, quickAtOnce: 3, flags: values })
