// @ts-check
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '5000' },
    // Others find other things; the seeds that fail are named, and the same seed gives the same history.
    first: { type: 'string', default: String(randomInt(1_000_000_000)) },
  },
})

console.error(`Simulating ${values.seeds} histories, from seed ${values.first} on.`)
process.env.SIMULATION_SEEDS = values.seeds
process.env.SIMULATION_FIRST_SEED = values.first
process.argv.splice(
  2,
  Number.POSITIVE_INFINITY,
  '--project',
  'product',
  'packages/quartermaster/src/core/operations/simulation.test.ts',
)
await import('./test.mjs')
