// @ts-check
import { figure } from '../lib/figure.mjs'
import { openDatabaseToWrite } from './database-rows.mjs'
import { followLog } from './log-reader.mjs'
import { onStage } from './stage.mjs'
import { openWorld } from './world.mjs'

const DAY_MS = 86_400_000
/** Of each log so much is too old to be kept, as if three days had passed. */
const OLD_SHARE = 0.7
const OLD_MS = 3 * DAY_MS

/**
 * Logs that are forgotten from their old end while they are read from there and written at the other: nobody misses a row
 * without being told that rows are gone, and what waits stays.
 * @param {import('./stage.mjs').FaultOptions} options
 */
export function run({ store, rounds, seed }) {
  return onStage(async stage => {
    const house = await stage.house(store)
    const node = await house.node()
    const { load, notes, seats, untilSomeMoment, look, figures } = await openWorld(house, [node], { seed })
    const logs = seats.map(seat => followLog(node.owner, seat))
    for (let round = 0; round < rounds; round++) {
      const end = load.begin()
      await untilSomeMoment()
      await Promise.all(logs.map(log => log.readSome()))
      await end()
      await node.stop()
      await age(house)
      // It begins to forget as soon as it is there.
      await node.start()
      const endAgain = load.begin()
      const moment = untilSomeMoment()
      await Promise.all(logs.map(log => log.readUntil(moment)))
      await endAgain()
      await Promise.all(logs.map(log => log.readToEnd()))
      notes.lost.push(...logs.flatMap(log => log.holes()))
      await look({ isPruned: true })
    }
    await load.drain()
    await look({ isPruned: true })
    const gone = logs.reduce((sum, log) => sum + log.gone(), 0)
    return [...figures(rounds), figure('places of readers that were gone, and told so', gone, 'things')]
  })
}

/** @param {import('./stage.mjs').House} house */
async function age(house) {
  const database = await openDatabaseToWrite(house.place())
  const ends = await database.all('SELECT workspace_id, max(sequence) AS last FROM activity GROUP BY workspace_id')
  for (const { workspace_id: id, last } of ends) {
    const upTo = Math.floor(Number(last) * OLD_SHARE)
    const old = `workspace_id = '${id}' AND sequence <= ${upTo} AND created_at > ${Date.now() - DAY_MS}`
    await database.all(`UPDATE activity SET created_at = created_at - ${OLD_MS} WHERE ${old}`)
  }
  await database.close()
}
