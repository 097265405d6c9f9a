// @ts-check
import { profileOf } from '../lib/stage.mjs'
import { onStage } from './contenders.mjs'
import { contest } from './contest.mjs'
import { walkCalls } from './workloads.mjs'

/**
 * Calls whose answer is a stream: three notices of progress, then the result.
 * @param {import('./contest.mjs').Contest & { profileDir?: string }} options
 */
export function run({ profileDir, ...load }) {
  return onStage(async stage => {
    const product = await stage.product('steps', { profile: profileOf(profileDir, 'progress') })
    const sdk = await stage.sdkAlone('steps')
    return contest(
      [
        { contender: product, workload: walkCalls(product) },
        { contender: sdk, workload: walkCalls(sdk) },
      ],
      load,
    )
  })
}
