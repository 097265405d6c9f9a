// @ts-check
import { figure } from '../lib/figure.mjs'
import { median, p99 } from '../lib/statistics.mjs'
import { openDirect } from './direct.mjs'
import { openHouse } from './house.mjs'
import { onStage } from './stage.mjs'
import { sentence, words } from './words.mjs'

const FEW = 10
const SOME = 1_000
const MOST_TIMES = 1.5
/** How many memories are committed at a time while the store is filled. */
const CROWD = 100

/** @typedef {import('./house.mjs').House} House */
/** @typedef {import('./house.mjs').WorkspaceRow} WorkspaceRow */

/**
 * A store with so many rows, and whose inbox and log are looked at.
 * @typedef {{ house: House, from: WorkspaceRow, to: WorkspaceRow }} Shelf
 */

/**
 * What things cost in three stores that take turns, with ten rows, a thousand and a hundred thousand; then how a process starts
 * on the largest, against an empty one.
 * @param {object} options
 * @param {import('./stage.mjs').StoreKind} options.store
 * @param {number} options.total
 * @param {number} options.boxes the inboxes that share them: one takes no more than 10,000
 * @param {number} options.samples
 */
export function run({ store, total, boxes, samples }) {
  return onStage(async stage => {
    const place = await stage.place(store)
    const direct = await openDirect(place.databaseUrl)
    const shelves = [
      await openShelf(await stage.place(store), { rows: FEW, boxes: 1 }),
      await openShelf(await stage.place(store), { rows: SOME, boxes: 1 }),
      await openShelf(place, { rows: total, boxes }),
    ]
    const measured = await costs({ shelves, direct, samples })
    await direct.close()
    for (const { house } of shelves) await house.close()
    const empty = await stage.up(await stage.place(store))
    const full = await stage.up(place)
    const [idle, filled] = [empty.usage().residentMb, full.usage().residentMb]
    return [
      ...figuresOf(measured, total),
      figure('ready, empty', empty.started.ms, 'ms'),
      figure(`ready, ${total} rows`, full.started.ms, 'ms'),
      figure(`ready, ${total} rows against empty`, full.started.ms / empty.started.ms, 'times', MOST_TIMES),
      figure('resident when ready, empty', idle, 'MB'),
      figure(`resident when ready, ${total} rows`, filled, 'MB'),
      figure(`resident, ${total} rows against empty`, filled / idle, 'times', MOST_TIMES),
    ]
  })
}

/**
 * @param {import('./stage.mjs').Place} place
 * @param {{ rows: number, boxes: number }} size
 * @returns {Promise<Shelf>}
 */
async function openShelf(place, { rows, boxes }) {
  const house = await openHouse(place)
  const from = await house.workspace('sender')
  const to = await house.workspace('box')
  const others = await Promise.all(Array.from({ length: boxes - 1 }, (_, i) => house.workspace(`box-${i}`)))
  await addRows(house, from, [to, ...others], rows)
  return { house, from, to }
}

/**
 * Messages for all inboxes together, and as many memories of the first.
 * @param {House} house
 * @param {WorkspaceRow} from
 * @param {readonly [WorkspaceRow, ...WorkspaceRow[]]} boxes
 * @param {number} count
 */
async function addRows(house, from, boxes, count) {
  for (const to of boxes) await house.fill(from, to, Math.floor(count / boxes.length))
  const [workspace] = boxes
  for (let i = 0; i < count; i += CROWD)
    await Promise.all(
      Array.from({ length: Math.min(CROWD, count - i) }, () =>
        house.memory.commit({ workspace }, { content: sentence() }),
      ),
    )
}

/**
 * @param {object} what
 * @param {readonly Shelf[]} what.shelves
 * @param {import('./direct.mjs').Direct} what.direct
 * @param {number} what.samples
 * @returns {Promise<{ commit: number[], works: Record<string, number[][]> }>} of each work the times in each store
 */
async function costs({ shelves, direct, samples }) {
  /** @type {Record<string, number[][]>} */
  const works = {}
  const commit = []
  for (const [name, work] of Object.entries(WORKS)) {
    const times = shelves.map(() => /** @type {number[]} */ ([]))
    works[name] = times
    for (let i = -Math.ceil(samples / 10); i < samples; i++) {
      commit.push(await timed(direct.commit))
      for (const [k, shelf] of shelves.entries()) {
        const ms = await timed(() => work(shelf))
        if (i >= 0) times[k]?.push(ms)
      }
    }
  }
  return { commit, works }
}

/** @type {Record<string, (shelf: Shelf) => Promise<unknown>>} */
const WORKS = {
  'a message': ({ house, from, to }) => house.messages.sending.toPeer(from, to.id, { text: 'One more.' }),
  async 'a message taken and acknowledged'({ house: { messages }, to }) {
    const { rows } = await messages.inbox.take({ workspace: to, reader: 'reader', limit: 1 })
    await messages.inbox.pop(to, rows[0]?.id ?? '')
  },
  'a look into the inbox, 10 messages': ({ house, to }) =>
    house.messages.inbox.take({ workspace: to, reader: 'reader', limit: 10 }),
  'a page of the log, 10 rows': ({ house, to }) =>
    house.messages.activity.read(to, { sinceSeconds: 86_400, limit: 10 }),
  'a page of the history with a peer, 10 rows': ({ house, from, to }) =>
    house.messages.history.read(to, { peer: from.id, limit: 10 }),
  'recall of six words': ({ house, to }) => house.memory.recall(to, { query: words(6) }),
  'a memory': ({ house, to }) => house.memory.commit({ workspace: to }, { content: sentence() }),
}

/** @param {() => Promise<unknown>} work */
async function timed(work) {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

/** @param {Awaited<ReturnType<typeof costs>>} measured @param {number} total */
function figuresOf({ commit, works }, total) {
  const bare = median(commit)
  return [
    figure('a direct commit, p50', bare, 'ms'),
    ...Object.entries(works).flatMap(([what, [few = [], some = [], many = []]]) => [
      figure(`${what}, ${FEW} rows, p50`, median(few), 'ms'),
      figure(`${what}, ${SOME} rows against ${FEW}`, median(some) / median(few), 'times', MOST_TIMES),
      figure(`${what}, ${total} rows against ${FEW}`, median(many) / median(few), 'times'),
      figure(`${what}, ${total} rows, p50`, median(many), 'ms'),
      figure(`${what}, ${total} rows, p99`, p99(many), 'ms'),
      figure(`${what}, ${total} rows, p50 against a direct commit`, median(many) / bare, 'times'),
    ]),
  ]
}
