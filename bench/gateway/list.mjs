// @ts-check
import { profileOf } from '../lib/stage.mjs'
import { onStage } from './contenders.mjs'
import { contest } from './contest.mjs'
import { toolLists } from './workloads.mjs'

/** As many as the project has, and as one page holds. */
const TOOLS = 200

/**
 * `tools/list` of an agent with many tools.
 * @param {import('./contest.mjs').Contest & { profileDir?: string }} options
 */
export function run({ profileDir, ...load }) {
  return onStage(async stage => {
    const product = await stage.product('shelves', { profile: profileOf(profileDir, 'list') })
    const sdk = await stage.sdkAlone('shelves')
    return contest(
      [
        { contender: product, workload: toolLists(product, TOOLS) },
        { contender: sdk, workload: toolLists(sdk, TOOLS) },
      ],
      { ...load, unit: 'lists/s' },
    )
  })
}
