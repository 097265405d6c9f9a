// @ts-check
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { runParts } from '../lib/run-parts.mjs'

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    listings: { type: 'string' },
    json: { type: 'boolean', default: false },
    profile: { type: 'string' },
  },
})

if (values.data === undefined)
  throw new Error('Say where the ordinary tools are: --data FOLDER, with tools.jsonl in it.')
const listings = values.listings && resolve(values.listings)
const PARTS = [{ part: 'quality', options: { folder: resolve(values.data), listings } }]

await runParts({ parts: PARTS, beside: import.meta.url, flags: values })
