// @ts-check
import { figure } from '../lib/figure.mjs'
import { readConversations } from './conversations.mjs'
import { openFixture, workspaceOf } from './desk.mjs'
import { plainBm25 } from './plain-bm25.mjs'

const DEPTHS = [5, 10]
const DEEPEST = Math.max(...DEPTHS)

/**
 * A found row, and the rows that are shown beside it.
 * @typedef {{ ids: readonly string[], beside: readonly string[] }} Hit
 * @typedef {{ set: string, evidence: readonly string[], ours: readonly Hit[], plain: readonly Hit[] }} Answer
 */

/**
 * How much of what answers a question stands near the top: of our recall, and of BM25 as it stands in books. Both have the same
 * texts, and with both the rows right before and after a hit can be read beside it.
 * @param {object} options
 * @param {string} options.folder
 */
export async function run({ folder }) {
  const conversations = await readConversations(folder)
  const desk = await openFixture()
  /** @type {Answer[]} */
  const answers = []
  for (const conversation of conversations) answers.push(...(await answersOf(conversation, desk.memory)))
  await desk.close()
  const sets = [...new Set(answers.map(({ set }) => set))]
  return [
    figure('conversations', conversations.length, 'conversations'),
    figure(
      'turns',
      conversations.reduce((sum, { turns }) => sum + turns.length, 0),
      'memories',
    ),
    figure('questions', answers.length, 'questions'),
    ...figuresOf('', answers),
    ...(sets.length > 1
      ? sets.flatMap(set =>
          figuresOf(
            `${set}, `,
            answers.filter(one => one.set === set),
          ),
        )
      : []),
  ]
}

/**
 * @param {import('./conversations.mjs').Conversation} conversation
 * @param {Awaited<ReturnType<typeof openFixture>>['memory']} memory
 * @returns {Promise<Answer[]>}
 */
async function answersOf({ set, name, turns, questions }, memory) {
  const workspace = workspaceOf(name)
  /** Of two turns that say the same there is one memory, which stands for both. @type {Map<string, string[]>} */
  const turnsOf = new Map()
  for (const { id, session, text } of turns) {
    const { memory: row } = await memory.commit({ workspace }, { content: text, conversationId: session })
    turnsOf.set(row.id, [...(turnsOf.get(row.id) ?? []), id])
  }
  const idsOf = (/** @type {string} */ id) => turnsOf.get(id) ?? []
  const beside = new Map(turns.map(({ id }, i) => [id, neighboursOf(turns, i)]))
  const plain = plainBm25(turns)
  /** @type {Answer[]} */
  const answers = []
  for (const { question, evidence } of questions) {
    const { memories } = await memory.recall(workspace, { query: question, limit: DEEPEST })
    const ours = memories.map(({ id, neighbours }) => ({
      ids: idsOf(id),
      beside: neighbours.flatMap(other => idsOf(other.id)),
    }))
    const others = plain(question, DEEPEST).map(id => ({ ids: [id], beside: beside.get(id) ?? [] }))
    answers.push({ set, evidence, ours, plain: others })
  }
  return answers
}

/** @param {readonly import('./conversations.mjs').Turn[]} turns @param {number} at */
function neighboursOf(turns, at) {
  return [turns[at - 1], turns[at + 1]].flatMap(turn => (turn && turn.session === turns[at]?.session ? [turn.id] : []))
}

/** @param {string} of @param {readonly Answer[]} answers */
function figuresOf(of, answers) {
  /** @param {'ours' | 'plain'} who @param {number} depth @param {(hit: Hit) => readonly string[]} shown */
  const percent = (who, depth, shown) =>
    (100 * answers.reduce((sum, one) => sum + share(one.evidence, one[who].slice(0, depth).flatMap(shown)), 0)) /
    answers.length
  const alone = (/** @type {Hit} */ { ids }) => ids
  const together = (/** @type {Hit} */ { ids, beside }) => [...ids, ...beside]
  return DEPTHS.flatMap(depth => [
    figure(`${of}recall@${depth}`, percent('ours', depth, alone), '%'),
    figure(`${of}recall@${depth} of plain BM25`, percent('plain', depth, alone), '%'),
    figure(`${of}recall@${depth} with the rows beside`, percent('ours', depth, together), '%'),
    figure(`${of}recall@${depth} with the rows beside, of plain BM25`, percent('plain', depth, together), '%'),
  ])
}

/** @param {readonly string[]} evidence @param {readonly string[]} found */
function share(evidence, found) {
  return evidence.filter(id => found.includes(id)).length / evidence.length
}
