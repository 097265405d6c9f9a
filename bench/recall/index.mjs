// @ts-check
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { runParts } from '../lib/run-parts.mjs'

const { values } = parseArgs({
  options: {
    folder: { type: 'string', default: new URL('sample', import.meta.url).pathname },
    json: { type: 'boolean', default: false },
    rows: { type: 'string', default: '100000' },
    only: { type: 'string' },
    profile: { type: 'string' },
  },
})

const PARTS = [
  { part: 'quality', options: { folder: resolve(values.folder) } },
  { part: 'held-out', options: {} },
  { part: 'speed', options: { rows: Number(values.rows) } },
].filter(({ part }) => values.only === undefined || values.only.split(',').includes(part))

await runParts({ parts: PARTS, beside: import.meta.url, flags: values })
