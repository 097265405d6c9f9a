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
    const nodes = [await house.node(), await house.node()]
    const world = await openWorld(house, nodes, { seed })
    await loseDatabase({ rounds, house, world })
    return world.close(rounds)
  })
}

/**
 * @param {object} options
 * @param {number} options.rounds
 * @param {import('./stage.mjs').House} options.house
 * @param {import('./world.mjs').World} options.world
 */
export async function loseDatabase({ rounds, house: { server }, world }) {
  const { load, notes, random, untilSomeMoment, look } = world
  if (!server) throw new Error('Only PostgreSQL can be restarted by itself.')
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
}
