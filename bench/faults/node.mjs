// @ts-check
import { setTimeout as wait } from 'node:timers/promises'
import { recordsIn } from './evidence.mjs'
import { repeat } from './load.mjs'
import { onStage } from './stage.mjs'
import { openWorld } from './world.mjs'

/** Tasks that nobody does are given up by whoever is left. */
export const DEADLINE_SECONDS = 1
/** By then the other node has noticed, on any machine. */
const GIVEN_UP_WITHIN_MS = 60_000

/**
 * Two nodes on one database, one of which is killed with whatever it has leased; the other goes on with that.
 * @param {import('./stage.mjs').FaultOptions} options
 */
export function run({ store, rounds, seed }) {
  return onStage(async stage => {
    const house = await stage.house(store)
    const nodes = [await house.node(), await house.node()]
    const world = await openWorld(house, nodes, { seed, deadlineSeconds: DEADLINE_SECONDS })
    await loseNodes({ rounds, house, nodes, world })
    return world.close(rounds)
  })
}

/**
 * @param {object} options
 * @param {number} options.rounds
 * @param {import('./stage.mjs').House} options.house
 * @param {readonly import('./stage.mjs').Node[]} options.nodes
 * @param {import('./world.mjs').World} options.world
 */
export async function loseNodes({ rounds, house, nodes, world }) {
  const { load, notes, random, untilSomeMoment, look } = world
  for (let round = 0; round < rounds; round++) {
    const end = load.begin()
    await untilSomeMoment()
    const dead = random.below(nodes.length)
    await nodes[dead]?.kill()
    await untilSomeMoment()
    await end()
    await look()
    for (const id of await overdue(house)) notes.lost.push(`task ${id} is over its deadline and open`)
    await nodes[dead]?.start()
    await repeat(notes, random)
  }
}

/**
 * The tasks that nobody has given up, once there was time enough.
 * @param {import('./stage.mjs').House} house
 */
async function overdue(house) {
  for (const givesUpAt = performance.now() + GIVEN_UP_WITHIN_MS; ; await wait(100)) {
    const { tasks } = await recordsIn(await house.rows())
    const open = tasks.filter(({ due_at: dueAt }) => dueAt !== null && dueAt < Date.now())
    if (open.length === 0 || performance.now() > givesUpAt) return open.map(({ id }) => id)
  }
}
