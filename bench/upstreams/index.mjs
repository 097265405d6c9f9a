// @ts-check
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureInstalledIn } from '../../scripts/ensure.mjs'
import { runParts } from '../lib/run-parts.mjs'
import { WITHOUT_PEERS } from './peers.mjs'
import { FULL, QUICK } from './sizes.mjs'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    'no-peers': { type: 'boolean', default: false },
    only: { type: 'string' },
    profile: { type: 'string' },
  },
})

const { profile, 'no-peers': alone, ...flags } = values
// Without them the rest is measured all the same, and each of them is said to be missing.
if (alone) process.env[WITHOUT_PEERS] = 'true'
else
  await ensureInstalledIn('bench/upstreams/peers').catch(error =>
    console.error(`The other gateways cannot be installed: ${error.message}`),
  )

const sizes = Object.entries(flags.quick ? QUICK : FULL)
// The process of a part is only the load; what is profiled is the product that it starts.
const profiling = profile === undefined ? {} : { profileDir: resolve(profile) }
const parts = sizes.map(([part, size]) => ({ part, options: { ...size, ...profiling } }))

await runParts({ parts, beside: import.meta.url, quickAtOnce: 3, flags })
