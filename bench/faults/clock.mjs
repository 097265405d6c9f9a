// @ts-check
import { killRounds } from './kill-rounds.mjs'
import { onStage } from './stage.mjs'
import { openWorld } from './world.mjs'

/** Less than the deadline of a task and the age at which logs are forgotten. */
const FARTHEST_MS = 2 * 3_600_000

/**
 * One node whose clock is put forward or back while everybody works, and that is killed and started with another one.
 * @param {import('./stage.mjs').FaultOptions} options
 */
export function run({ store, rounds, seed }) {
  return onStage(async stage => {
    const house = await stage.house(store)
    const node = await house.node({ hasOwnClock: true })
    const world = await openWorld(house, [node], { seed, leasesHold: false })
    const putClock = () => node.putClock(world.random.below(2 * FARTHEST_MS) - FARTHEST_MS)
    const beforeDeath = async () => {
      await world.untilSomeMoment()
      await putClock()
    }
    return killRounds({ rounds, node, world, beforeDeath, beforeStart: putClock })
  })
}
