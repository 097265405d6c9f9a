// @ts-check
import { repeat } from './load.mjs'

const nothing = async () => {}

/**
 * Kills a node at a moment nobody chose, again and again, while everybody works, and answers what was found.
 * @param {object} options
 * @param {number} options.rounds
 * @param {import('./stage.mjs').Node} options.node
 * @param {import('./world.mjs').World} options.world
 * @param {() => Promise<unknown>} [options.beforeDeath] while everybody works
 * @param {() => Promise<unknown>} [options.beforeStart] while nobody does
 */
export async function killRounds({ rounds, node, world, beforeDeath = nothing, beforeStart = nothing }) {
  const { load, notes, random, untilSomeMoment, look, close } = world
  for (let round = 0; round < rounds; round++) {
    const end = load.begin()
    await beforeDeath()
    await untilSomeMoment()
    await node.kill()
    await end()
    await beforeStart()
    await node.start()
    await look()
    await repeat(notes, random)
  }
  return close(rounds)
}
