// @ts-check
import { figure } from '../lib/figure.mjs'
import { profileOf } from '../lib/stage.mjs'
import { onStage } from './contenders.mjs'
import { contest } from './contest.mjs'
import { addCalls } from './workloads.mjs'

/** @typedef {import('./contest.mjs').Contest} Contest */

/**
 * A small tool called by clients of 2026-07-28, against the same tool served by the SDK alone.
 * @param {Contest & { profileDir?: string }} options
 */
export function run({ profileDir, ...load }) {
  return onStage(async stage => {
    const product = await stage.product('sums', { profile: profileOf(profileDir, 'call') })
    const sdk = await stage.sdkAlone('sums')
    const floor = await stage.floor()
    const figures = await contest(
      [
        { contender: product, workload: addCalls(product) },
        { contender: sdk, workload: addCalls(sdk) },
        { contender: floor, workload: addCalls(floor) },
      ],
      load,
    )
    const calls = load.warmUp + load.inFlight.length * load.rounds * load.calls
    const resident = [product, sdk].map(({ name, server }) =>
      figure(`${name}, resident memory after ${calls} calls`, server.usage().residentMb, 'MB'),
    )
    return [...figures, ...resident]
  })
}
