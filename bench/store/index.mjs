// @ts-check
import { parseArgs } from 'node:util'
import { FLAGS, runParts } from '../lib/run-parts.mjs'
import { FULL, QUICK } from './sizes.mjs'

const { values } = parseArgs({ options: FLAGS })

const sizes = values.quick ? QUICK : FULL
const PARTS = [
  { part: 'start', options: sizes.start },
  { part: 'commit', options: sizes.commit },
  { part: 'read', options: sizes.read },
]

await runParts({ parts: PARTS, beside: import.meta.url, flags: values })
