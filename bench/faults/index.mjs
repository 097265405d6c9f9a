// @ts-check
import { parseArgs } from 'node:util'
import { runParts } from '../lib/run-parts.mjs'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    store: { type: 'string', default: 'sqlite' },
  },
})

if (!['sqlite', 'postgres'].includes(values.store)) throw new Error('--store is sqlite or postgres.')
const options = { store: values.store, rounds: Number(values.rounds), seed: Number(values.seed) }
const ANYWHERE = ['killed', 'ended', 'pruned', 'clock']
const SHARED = ['node', 'database']
const usual = values.store === 'postgres' ? [...ANYWHERE, ...SHARED] : ANYWHERE
// Says nothing that the usual ones do not, and so has to be asked for.
const parts = values.store === 'postgres' ? [...usual, 'shared'] : usual

console.error(`Seed ${values.seed}: --seed ${values.seed} takes the same moments again.`)
await runParts({
  parts: parts.map(part => ({ part, options })),
  beside: import.meta.url,
  flags: { ...values, only: values.only ?? usual.join(',') },
})
