// @ts-check

import { contest } from '../gateway/contest.mjs'
import { toolCalls } from '../gateway/workloads.mjs'
import { profileOf } from '../lib/stage.mjs'
import { onStage } from './stage.mjs'

const KINDS = [
  { name: 'read-only', tool: 'look' },
  { name: 'recorded', tool: 'keep' },
  { name: 'recorded, with a key', tool: 'keep', isKeyed: true },
  { name: 'recorded, on a standing grant', tool: 'keep_allowed' },
  { name: 'recorded, a file verified', tool: 'keep_verified' },
]

/**
 * The same over HTTP, by clients of 2026-07-28: one product, called in turns with one tool and the other.
 * @param {import('../gateway/contest.mjs').Contest & { profileDir?: string }} options
 */
export function run({ profileDir, ...load }) {
  return onStage(async stage => {
    const { dir, server, token } = await stage.office({ profile: profileOf(profileDir, 'http') })
    await stage.makeFolder(dir, 'kept')
    const runners = KINDS.map(({ name, tool, isKeyed }) => {
      const contender = { name, server, token }
      return { contender, workload: toolCalls(contender, { ...calledTool(tool), ...(isKeyed && { metaOf: keyOf }) }) }
    })
    // The first of a contest is set against each other, so it is the one that all the rest come on top of.
    const [reading, recorded, ...more] = runners
    if (!reading || !recorded) throw new Error('There is nothing to set against each other.')
    return contest([recorded, reading, ...more], load)
  })
}

/** @param {string} name */
const calledTool = name => ({
  name,
  inputOf: (/** @type {number} */ n) => ({ n }),
  isRight: (/** @type {import('../gateway/workloads.mjs').Result} */ { structuredContent }, /** @type {number} */ n) =>
    structuredContent?.n === n,
})

/** @param {number} n */
const keyOf = n => ({ 'quartermaster/idempotencyKey': `key-${n}` })
