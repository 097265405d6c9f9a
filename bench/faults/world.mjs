// @ts-check
import { setTimeout as wait } from 'node:timers/promises'
import { createSeeded } from '../lib/seeded.mjs'
import { createLoad } from './load.mjs'
import { createNotes } from './notes.mjs'
import { createReport } from './report.mjs'
import { takeSeats } from './seats.mjs'

/** Some work has to be under way, and within a second is every moment of it. */
const EARLIEST_MS = 50
const LATEST_MS = 1_000
const READERS = 2

/** @typedef {Awaited<ReturnType<typeof openWorld>>} World */

/**
 * Three workspaces that write to each other, remember and do tasks, and a fourth that gives them.
 * @param {import('./stage.mjs').House} house
 * @param {readonly import('./stage.mjs').Node[]} nodes
 * @param {{ seed: number, deadlineSeconds?: number, leasesHold?: boolean }} options
 */
export async function openWorld(house, nodes, { seed, ...more }) {
  const [first] = nodes
  if (!first) throw new Error('There is no node.')
  const random = createSeeded(seed)
  const places = { urls: nodes.map(({ url }) => url), readers: READERS }
  const [asker, ...seats] = await takeSeats(first.owner, ['dora', 'ada', 'bob', 'cy'], places)
  if (!asker) throw new Error('Nobody gives tasks.')
  const notes = createNotes()
  const report = createReport()
  const load = createLoad({ notes, seats, asker, random, ...more })
  /** @param {Parameters<typeof report.look>[2]} [options] */
  const look = async options => report.look(await house.rows(), notes, options)
  const figures = (/** @type {number} */ rounds) => report.figures(rounds, notes)
  return {
    notes,
    random,
    seats,
    load,
    look,
    figures,
    /** Until a moment that the seed has chosen. */
    untilSomeMoment: () => wait(EARLIEST_MS + random.below(LATEST_MS)),
    /** Lets all that is under way come to its end, and answers what was found. @param {number} rounds */
    async close(rounds) {
      await load.drain()
      await look()
      return figures(rounds)
    },
  }
}
