// @ts-check
import { repeat } from './load.mjs'
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
    const { load, notes, random, untilSomeMoment, look, figures } = await openWorld(house, [node], { seed })
    for (let round = 0; round < rounds; round++) {
      const end = load.begin()
      await untilSomeMoment()
      await node.kill()
      await end()
      await node.start()
      await look()
      await repeat(notes, random)
    }
    await load.drain()
    await look()
    return figures(rounds)
  })
}
