// @ts-check
import { profileOf } from '../lib/stage.mjs'
import { onStage } from './contenders.mjs'
import { contest } from './contest.mjs'
import { addCalls } from './workloads.mjs'

const VARIABLE = 'QUARTERMASTER_MCP_DIRECT_CALLS'

/** @type {typeof import('../../packages/quartermaster/src/contracts/index.ts')} */
const { SETTINGS } = await import(
  new URL('../../packages/quartermaster/dist/modules/contracts/index.js', import.meta.url).href
)

/**
 * The product with its own way for calls, against the product that leaves them to the SDK.
 * @param {import('./contest.mjs').Contest & { profileDir?: string }} options
 */
export async function run({ profileDir, ...load }) {
  if (!Object.values(SETTINGS).some(row => 'env' in row && row.env === VARIABLE)) {
    console.error(`This build has no setting ${VARIABLE}, so there is nothing to compare.`)
    return []
  }
  return onStage(async stage => {
    const on = await stage.product('sums', {
      name: 'direct calls on',
      env: { [VARIABLE]: 'true' },
      profile: profileOf(profileDir, 'direct-on'),
    })
    const off = await stage.product('sums', {
      name: 'direct calls off',
      env: { [VARIABLE]: 'false' },
      profile: profileOf(profileDir, 'direct-off'),
    })
    return contest(
      [
        { contender: on, workload: addCalls(on) },
        { contender: off, workload: addCalls(off) },
      ],
      load,
    )
  })
}
