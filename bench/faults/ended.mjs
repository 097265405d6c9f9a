// @ts-check
import { never } from '../lib/figure.mjs'
import { recordsIn } from './evidence.mjs'
import { repeat } from './load.mjs'
import { onStage } from './stage.mjs'
import { openWorld } from './world.mjs'

/**
 * One node that is told to end (SIGTERM) while everybody works: what was done was answered, and what was not answered was not
 * done.
 * @param {import('./stage.mjs').FaultOptions} options
 */
export function run({ store, rounds, seed }) {
  return onStage(async stage => {
    const house = await stage.house(store)
    const node = await house.node()
    const { load, notes, random, untilSomeMoment, look, figures } = await openWorld(house, [node], { seed })
    let unsaid = 0
    let badEnds = 0
    for (let round = 0; round < rounds; round++) {
      if (round > 0) {
        await node.start()
        await repeat(notes, random)
      }
      const end = load.begin()
      await untilSomeMoment()
      if ((await node.stop()) !== 0) badEnds++
      await end()
      unsaid += unsaidIn(await recordsIn(await house.rows()), notes)
      await look()
    }
    return [
      ...figures(rounds),
      never('done and not answered', unsaid, 'things'),
      never('ends with another exit code than 0', badEnds, 'runs'),
    ]
  })
}

/**
 * @param {import('./evidence.mjs').Records} records
 * @param {import('./notes.mjs').Notes} notes
 */
function unsaidIn({ activity, tasks, memories }, notes) {
  const there = new Set([
    ...activity.map(({ text }) => text),
    ...tasks.map(({ task }) => task),
    ...memories.map(({ content }) => content),
  ])
  const all = [...notes.messages, ...notes.tasks, ...notes.memories]
  return all.filter(([text, { ids }]) => ids.size === 0 && there.has(text)).length
}
