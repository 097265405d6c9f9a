// @ts-check
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { runParts } from '../lib/run-parts.mjs'

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    documents: { type: 'string', default: '10000' },
    profile: { type: 'string' },
  },
})

if (values.data === undefined)
  throw new Error('Say where the data is: --data FOLDER, with tools.jsonl and queries*.jsonl in it.')
const folder = resolve(values.data)
const PARTS = [
  { part: 'quality', options: { folder } },
  { part: 'examples', options: { folder } },
  { part: 'units', options: { folder } },
  { part: 'speed', options: { folder, many: Number(values.documents) } },
]

await runParts({ parts: PARTS, beside: import.meta.url, flags: values })
