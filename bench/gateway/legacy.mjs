// @ts-check
import { profileOf } from '../lib/stage.mjs'
import { onStage } from './contenders.mjs'
import { contest } from './contest.mjs'
import { addCallsInSession } from './workloads.mjs'

/**
 * The same tool called by clients from before 2026-07-28, all in one session.
 * @param {import('./contest.mjs').Contest & { profileDir?: string }} options
 */
export function run({ profileDir, ...load }) {
  return onStage(async stage => {
    const product = await stage.product('sums', { profile: profileOf(profileDir, 'legacy') })
    const sdk = await stage.sdkAlone('sums')
    return contest(
      [
        { contender: product, workload: await addCallsInSession(product, '/mcp') },
        { contender: sdk, workload: await addCallsInSession(sdk, '/sessions') },
      ],
      load,
    )
  })
}
