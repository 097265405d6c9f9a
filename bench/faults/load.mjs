// @ts-check
import { setTimeout as wait } from 'node:timers/promises'
import { noteRefusal } from './notes.mjs'
import { LEASE_MS } from './stage.mjs'

/** @typedef {import('./seats.mjs').Seat} Seat */
/** @typedef {import('./notes.mjs').Notes} Notes */
/** @typedef {import('./notes.mjs').Asked} Asked */
/** @typedef {import('../lib/api-client.mjs').ApiClient} ApiClient */

/** Whoever finds nobody there tries again this much later. */
const PAUSE_MS = 10
const CONVERSATIONS = 3
/** Of what a reader is handed, so much is left for whoever comes after it. */
const LEFT = 0.1
const ANSWERED = 0.2
const TWICE_AT_ONCE = 0.3

/**
 * Everybody at work at the same time, until it is ended. Nobody's work is a matter of chance beyond what the seed says.
 * @param {object} world
 * @param {Notes} world.notes
 * @param {readonly Seat[]} world.seats
 * @param {Seat} world.asker who gives tasks and is given none
 * @param {import('../lib/seeded.mjs').Seeded} world.random
 * @param {number} [world.deadlineSeconds] of every other task
 * @param {boolean} [world.leasesHold] no: a clock that is put forward ends them
 */
export function createLoad({ notes, seats, asker, random, deadlineSeconds, leasesHold = true }) {
  let next = 0

  /**
   * Asks once, or twice at the same moment under one key, and notes what comes back.
   * @param {Map<string, Asked>} all
   * @param {string} text
   * @param {Omit<Asked, 'ids'>} question
   */
  async function ask(all, text, question) {
    const asked = { ...question, ids: new Set() }
    all.set(text, asked)
    const times = asked.isKeyed && random.chance(TWICE_AT_ONCE) ? 2 : 1
    await Promise.all(Array.from({ length: times }, () => askOnce(notes, asked)))
    if (asked.ids.size > 1) notes.doubled.push(`${text} was answered as ${[...asked.ids].join(' and ')}`)
    if (asked.ids.size === 0) await wait(PAUSE_MS)
    return asked.ids.size > 0
  }

  /** @param {Seat} seat */
  async function send(seat) {
    const to = random.pick(seats.filter(({ id }) => id !== seat.id))
    const text = `message ${next++}`
    const isKeyed = random.chance(0.5)
    const conversationId = `${seat.name}-${to.name}-${random.below(CONVERSATIONS)}`
    const body = { to: to.id, text, conversationId, ...(isKeyed && { idempotencyKey: text }) }
    await ask(notes.messages, text, { path: '/messages', body, client: seat.writer, isKeyed })
  }

  async function delegate() {
    const task = `task ${next++}`
    const deadline = deadlineSeconds !== undefined && random.chance(0.5) ? { deadlineSeconds } : {}
    const body = { to: random.pick(seats).id, task, idempotencyKey: task, ...deadline }
    await ask(notes.tasks, task, { path: '/delegations', body, client: asker.writer, isKeyed: true })
  }

  /** @param {Seat} seat */
  async function remember(seat) {
    const content = `What was learnt is number ${next++}, and so it is kept.`
    await ask(notes.memories, content, { path: '/memories', body: { content }, client: seat.writer, isKeyed: true })
  }

  /** @param {ApiClient} reader @param {string} name */
  async function read(reader, name) {
    const askedAt = performance.now()
    const answer = await reader.ask('GET', '/inbox?limit=5&waitSeconds=0.2')
    if (answer.status !== 200) {
      noteRefusal(notes, answer)
      return wait(PAUSE_MS)
    }
    // All of them now: whoever is slow over the first has the others no longer when it comes to them.
    for (const { activityId } of answer.body.messages) noteHanded(activityId, { reader: name, askedAt })
    for (const message of answer.body.messages) await handle(reader, message)
  }

  /** @param {string} id @param {{ reader: string, askedAt: number }} now */
  function noteHanded(id, now) {
    const before = notes.handed.get(id)
    if ((notes.acknowledged.get(id) ?? Number.POSITIVE_INFINITY) < now.askedAt)
      notes.doubled.push(`${id} came again after it was taken out`)
    // Each lease began between question and answer. Which of them was the first cannot be told from here, and where all that lies
    // within the time of one lease, it need not.
    const first = Math.min(before?.askedAt ?? 0, now.askedAt)
    if (leasesHold && before && before.reader !== now.reader && performance.now() < first + LEASE_MS)
      notes.doubled.push(`${id} was handed to two readers at once`)
    notes.handed.set(id, now)
  }

  /** @param {ApiClient} client @param {{ activityId: string, kind: string, taskId?: string }} message */
  async function handle(client, { activityId, kind, taskId }) {
    if (random.chance(LEFT)) return
    const isAnswer = taskId !== undefined ? kind === 'peer_agent' : kind === 'peer_agent' && random.chance(ANSWERED)
    if (!isAnswer) return pop(client, activityId)
    const text = `answer ${next++}`
    const path = `/inbox/${activityId}/reply`
    notes.tried.add(activityId)
    const body = { text, ...(taskId === undefined && { idempotencyKey: text }) }
    const isDone = await ask(notes.messages, text, {
      path,
      body,
      client,
      isKeyed: taskId === undefined,
      answers: activityId,
    })
    if (isDone) notes.acknowledged.set(activityId, performance.now())
  }

  /** @param {ApiClient} client @param {string} id */
  async function pop(client, id) {
    notes.tried.add(id)
    const answer = await client.ask('DELETE', `/inbox/${id}`)
    if (answer.status !== 200) return noteRefusal(notes, answer)
    if (!answer.body.removed) return
    if (notes.acknowledged.has(id)) notes.doubled.push(`${id} was taken out twice`)
    notes.acknowledged.set(id, performance.now())
  }

  /** Begins; what is answered ends it, when everybody has been answered or turned away. */
  function begin() {
    const over = new AbortController()
    const forEver = async (/** @type {() => Promise<unknown>} */ work) => {
      while (!over.signal.aborted) await work()
    }
    const readers = [...seats, asker].flatMap(({ name, readers }) =>
      readers.map((client, i) => forEver(() => read(client, `${name} ${i}`))),
    )
    const writers = seats.flatMap(seat => [forEver(() => send(seat)), forEver(() => send(seat))])
    const others = [forEver(delegate), ...seats.map(seat => forEver(() => remember(seat)))]
    const all = Promise.all([...readers, ...writers, ...others])
    return async () => {
      over.abort()
      await all
    }
  }

  /** Takes out what waits, until nothing does. Where several readers are, one is enough. */
  async function drain({ reader = 0 } = {}) {
    await Promise.all([...seats, asker].map(({ name, readers }) => drained(readers[reader], `${name} ${reader}`)))
  }

  /** @param {ApiClient | undefined} reader @param {string} name */
  async function drained(reader, name) {
    if (!reader) throw new Error('Nobody reads.')
    for (;;) {
      const askedAt = performance.now()
      // What another reader has left comes when its lease is over.
      const answer = await reader.ask('GET', `/inbox?limit=100&waitSeconds=${(LEASE_MS + 500) / 1_000}`)
      if (answer.status !== 200) throw new Error(`An inbox cannot be read: ${JSON.stringify(answer)}`)
      /** @type {string[]} */
      const ids = answer.body.messages.map((/** @type {{ activityId: string }} */ { activityId }) => activityId)
      if (ids.length === 0) return
      for (const id of ids) noteHanded(id, { reader: name, askedAt })
      await Promise.all(ids.map(id => pop(reader, id)))
    }
  }

  return { begin, drain }
}

/**
 * Says again what may be said again and was not answered, and some of what was. The answer is the one that was given before.
 * @param {Notes} notes
 * @param {import('../lib/seeded.mjs').Seeded} random
 */
export async function repeat(notes, random) {
  const all = [...notes.messages, ...notes.tasks, ...notes.memories]
  const unanswered = all.filter(([, { isKeyed, ids, answers }]) => isKeyed && ids.size === 0 && answers === undefined)
  const answered = all.filter(([, { isKeyed, ids, answers }]) => isKeyed && ids.size > 0 && answers === undefined)
  const some = answered.length === 0 ? [] : Array.from({ length: 10 }, () => random.pick(answered))
  for (const [text, asked] of [...unanswered, ...some]) {
    const wasAnswered = asked.ids.size > 0
    await askOnce(notes, asked)
    if (asked.ids.size > 1) notes.doubled.push(`${text} was answered as ${[...asked.ids].join(' and ')}`)
    if (!wasAnswered && asked.ids.size === 0) notes.lost.push(`${text} cannot be said again`)
  }
}

/** @param {Notes} notes @param {Asked} asked */
async function askOnce(notes, { client, path, body, ids }) {
  const answer = await client.ask('POST', path, body)
  if (answer.status === 201) ids.add(answer.body.messageId ?? answer.body.memory?.id ?? answer.body.id)
  else noteRefusal(notes, answer)
}
