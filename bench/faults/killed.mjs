// @ts-check
import { killRounds } from './kill-rounds.mjs'
import { onStage } from './stage.mjs'
import { openWorld } from './world.mjs'

/**
 * One node that is killed at a moment nobody chose, again and again, while everybody works.
 * @param {import('./stage.mjs').FaultOptions} options
 */
export function run({ store, rounds, seed }) {
  return onStage(async stage => {
    const house = await stage.house(store)
    const node = await house.node()
    return killRounds({ rounds, node, world: await openWorld(house, [node], { seed }) })
  })
}
