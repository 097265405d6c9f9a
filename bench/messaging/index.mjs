// @ts-check
import { parseArgs } from 'node:util'
import { FLAGS, runParts } from '../lib/run-parts.mjs'
import { FULL, QUICK } from './sizes.mjs'

const { values } = parseArgs({
  options: {
    ...FLAGS,
    store: { type: 'string', default: 'sqlite' },
  },
})

const { store } = values
if (store !== 'sqlite' && store !== 'postgres') throw new Error('--store is sqlite or postgres.')
const sizes = values.quick ? QUICK : FULL
const PARTS = [
  { part: 'waiting', options: { store, ...sizes.waiting } },
  { part: 'sending', options: { store, ...sizes.sending, profileDir: values.profile } },
  { part: 'rows', options: { store, ...sizes.rows } },
]

await runParts({ parts: PARTS, beside: import.meta.url, flags: values })
