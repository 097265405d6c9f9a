// @ts-check
import { repeat } from './load.mjs'
import { onStage } from './stage.mjs'
import { openWorld } from './world.mjs'

/**
 * Two nodes whose database goes down under load, by a crash or in good order, and comes back.
 * @param {import('./stage.mjs').FaultOptions} options
 */
export function run({ store, rounds, seed }) {
  return onStage(async stage => {
    const house = await stage.house(store)
    const { server } = house
    if (!server) throw new Error('Only PostgreSQL can be restarted by itself.')
    const nodes = [await house.node(), await house.node()]
    const { load, notes, random, untilSomeMoment, look, figures } = await openWorld(house, nodes, { seed })
    for (let round = 0; round < rounds; round++) {
      const end = load.begin()
      await untilSomeMoment()
      await (random.chance(0.5) ? server.crash() : server.shutDown())
      await server.start()
      await untilSomeMoment()
      await end()
      await look()
      await repeat(notes, random)
    }
    await load.drain()
    await look()
    return figures(rounds)
  })
}
