// @ts-check
import { figure } from '../lib/figure.mjs'
import { median, p99 } from '../lib/statistics.mjs'
import { openFixture, workspaceOf } from './desk.mjs'

const MOST_TIMES = 200
const RECALL_MS = 50
/** How many are committed at a time while the store is filled. */
const CROWD = 200
const VOCABULARY = 20_000

/**
 * What remembering and recalling cost with many memories that one workspace can read.
 * @param {object} options
 * @param {number} options.rows
 */
export async function run({ rows }) {
  const times = Math.min(MOST_TIMES, rows / 20)
  const desk = await openFixture()
  const workspace = workspaceOf('many')
  const random = seeded(7)
  // In conversations of some twenty, where every third asks something: to look around in them costs as well.
  const wish = (/** @type {number} */ i) => ({
    content: `${i} ${sentence(random)}${i % 3 === 0 ? '?' : ''}`,
    conversationId: `c${Math.abs(i) % Math.ceil(rows / 20)}`,
  })
  const few = await timed(times, i => desk.memory.commit({ workspace }, wish(-i - 1)))
  for (let i = times; i < rows; i += CROWD)
    await Promise.all(Array.from({ length: CROWD }, (_, k) => desk.memory.commit({ workspace }, wish(i + k))))
  const recall = (/** @type {string} */ query) => desk.memory.recall(workspace, { query })
  const question = () => Array.from({ length: 6 }, () => word(random)).join(' ')
  await timed(10, () => recall(question()))
  const asked = await timed(times, () => recall(question()))
  const common = await timed(times, () => recall([1, 2, 3].map(spelled).join(' ')))
  const listed = await timed(times, () => recall(''))
  const many = await timed(times, i => desk.memory.commit({ workspace }, wish(rows + i)))
  await desk.close()
  const label = `${rows} memories`
  return [
    figure(`${label}, recall of six words, p50`, median(asked), 'ms', RECALL_MS),
    figure(`${label}, recall of six words, p99`, p99(asked), 'ms'),
    figure(`${label}, recall of the most common words, p50`, median(common), 'ms'),
    figure(`${label}, recall of the most common words, p99`, p99(common), 'ms'),
    figure(`${label}, list, p50`, median(listed), 'ms'),
    figure(`${label}, commit, p50`, median(many), 'ms'),
    figure(`${label}, commit, p99`, p99(many), 'ms'),
    figure(`${label}, commit, against the first ${times}`, median(many) / median(few), 'times', 1.5),
  ]
}

/** @param {number} times @param {(i: number) => Promise<unknown>} work */
async function timed(times, work) {
  const samples = []
  for (let i = 0; i < times; i++) {
    const startedAt = performance.now()
    await work(i)
    samples.push(performance.now() - startedAt)
  }
  return samples
}

/** Few words are in most texts and most words in few, as in any language. @param {() => number} random */
const word = random => spelled(Math.floor(VOCABULARY ** random()))

/** A number in letters: words with digits in them are taken apart. @param {number} number */
const spelled = number =>
  String(number)
    .replaceAll(/\d/g, digit => 'bdfgklmnpr'.charAt(Number(digit)))
    .concat('o')

/** @param {() => number} random */
function sentence(random) {
  return Array.from({ length: 10 + Math.floor(random() * 40) }, () => word(random)).join(' ')
}

/** @param {number} seed */
function seeded(seed) {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}
