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
 * What things cost with ten rows, a thousand and a hundred thousand in the same store; then how a process starts on it.
 * @param {object} options
 * @param {import('./stage.mjs').StoreKind} options.store
 * @param {number} options.total
 * @param {number} options.boxes the inboxes that share them: one takes no more than 10,000
 * @param {number} options.samples
 */
export function run({ store, total, boxes, samples }) {
  return onStage(async stage => {
    const place = await stage.place(store)
    const empty = await stage.up(place)
    const idle = { started: empty.started.ms, residentMb: empty.usage().residentMb }
    await empty.stop()
    const direct = await openDirect(place.databaseUrl)
    const house = await openHouse(place)
    const ada = await house.workspace('sender')
    const box = await house.workspace('box')
    const others = await Promise.all(Array.from({ length: boxes - 1 }, (_, i) => house.workspace(`box-${i}`)))
    const measure = () => costs({ house, direct, from: ada, to: box, samples })
    await addRows(house, ada, [box], FEW)
    // What is asked for the first time takes longer, however little there is.
    await measure()
    const few = await measure()
    await addRows(house, ada, [box], SOME - FEW)
    const some = await measure()
    await addRows(house, ada, [box, ...others], total - SOME)
    const many = await measure()
    await direct.close()
    await house.close()
    const full = await stage.up(place)
    return [
      ...figuresOf({ few, some, many }, total),
      figure('ready, empty', idle.started, 'ms'),
      figure(`ready, ${total} rows`, full.started.ms, 'ms'),
      figure(`ready, ${total} rows against empty`, full.started.ms / idle.started, 'times', MOST_TIMES),
      figure('resident when ready, empty', idle.residentMb, 'MB'),
      figure(`resident when ready, ${total} rows`, full.usage().residentMb, 'MB'),
      figure(`resident, ${total} rows against empty`, full.usage().residentMb / idle.residentMb, 'times', MOST_TIMES),
    ]
  })
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
 * @param {House} what.house
 * @param {import('./direct.mjs').Direct} what.direct
 * @param {WorkspaceRow} what.from
 * @param {WorkspaceRow} what.to
 * @param {number} what.samples
 */
async function costs({ house, direct, from, to, samples }) {
  const { messages, memory } = house
  const reader = { workspace: to, reader: 'reader' }
  const { cursor } = await messages.activity.read(to, { sinceSeconds: 1, limit: 1 })
  return {
    'a direct commit': await timed(samples, direct.commit),
    'a message': await timed(samples, () => messages.sending.toPeer(from, to.id, { text: 'One more.' })),
    'a message taken and acknowledged': await timed(samples, async () => {
      const { rows } = await messages.inbox.take({ ...reader, limit: 1 })
      await messages.inbox.pop(to, rows[0]?.id ?? '')
    }),
    'a look into the inbox, 10 messages': await timed(samples, () => messages.inbox.take({ ...reader, limit: 10 })),
    'a page of the log, 10 rows': await timed(samples, () => messages.activity.read(to, { since: cursor, limit: 10 })),
    'a page of the history with a peer, 10 rows': await timed(samples, () =>
      messages.history.read(to, { peer: from.id, limit: 10 }),
    ),
    'recall of six words': await timed(samples, () => memory.recall(to, { query: words(6) })),
    'a memory': await timed(samples, () => memory.commit({ workspace: to }, { content: sentence() })),
  }
}

/** @param {number} samples @param {() => Promise<unknown>} work */
async function timed(samples, work) {
  const times = []
  for (let i = 0; i < samples; i++) {
    const startedAt = performance.now()
    await work()
    times.push(performance.now() - startedAt)
  }
  return times
}

/** @param {Record<'few' | 'some' | 'many', Record<string, number[]>>} at @param {number} total */
function figuresOf({ few, some, many }, total) {
  return Object.keys(few).flatMap(what => {
    const [ten = [], thousand = [], all = []] = [few[what], some[what], many[what]]
    const isOurs = what !== 'a direct commit'
    const commit = median(many['a direct commit'] ?? [])
    return [
      figure(`${what}, ${FEW} rows, p50`, median(ten), 'ms'),
      ...(isOurs
        ? [figure(`${what}, ${SOME} rows against ${FEW}`, median(thousand) / median(ten), 'times', MOST_TIMES)]
        : []),
      figure(`${what}, ${total} rows, p50`, median(all), 'ms'),
      figure(`${what}, ${total} rows, p99`, p99(all), 'ms'),
      ...(isOurs ? [figure(`${what}, ${total} rows, p50 against a direct commit`, median(all) / commit, 'times')] : []),
    ]
  })
}
