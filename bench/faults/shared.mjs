// @ts-check
import { loseDatabase } from './database.mjs'
import { DEADLINE_SECONDS, loseNodes } from './node.mjs'
import { onStage } from './stage.mjs'
import { openWorld } from './world.mjs'

/**
 * What `node` and `database` do, one after the other with the same two nodes: for whoever has little time.
 * @param {import('./stage.mjs').FaultOptions} options
 */
export function run({ store, rounds, seed }) {
  return onStage(async stage => {
    const house = await stage.house(store)
    const nodes = [await house.node(), await house.node()]
    const world = await openWorld(house, nodes, { seed, deadlineSeconds: DEADLINE_SECONDS })
    await loseNodes({ rounds, house, nodes, world })
    await loseDatabase({ rounds, house, world })
    return world.close(rounds)
  })
}
