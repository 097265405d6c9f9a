// @ts-check
import { parseArgs } from 'node:util'
import { FLAGS, runParts } from '../lib/run-parts.mjs'
import { FULL, QUICK } from './sizes.mjs'

const { values } = parseArgs({ options: FLAGS })

const sizes = values.quick ? QUICK : FULL
const PARTS = [
  { part: 'build', options: { ...sizes.build, title: 'JSON Schema', style: { kind: 'json' } } },
  { part: 'build', options: { ...sizes.build, title: 'zod', style: { kind: 'zod' } } },
  {
    part: 'build',
    options: { ...sizes.examples, title: 'JSON Schema, an example each', style: { withExample: true } },
  },
  { part: 'view', options: sizes.view },
  { part: 'reload', options: sizes.reload },
  { part: 'recheck', options: sizes.recheck },
  { part: 'call', options: sizes.call },
  { part: 'find', options: sizes.find },
]

await runParts({ parts: PARTS, beside: import.meta.url, flags: values })
