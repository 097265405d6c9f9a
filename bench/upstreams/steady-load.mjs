// @ts-check
import { setTimeout as wait } from 'node:timers/promises'
import { connectTo } from '../gateway/load.mjs'
import { figure } from '../lib/figure.mjs'
import { reasonIn, reasonOf } from './failure-reason.mjs'

/** @typedef {import('./stage.mjs').Entrant} Entrant */
/** @typedef {import('../gateway/connection.mjs').Connection} Connection */

/**
 * One call: when it began and ended, and why it failed, if it did.
 * @typedef {{ begunAt: number, endedAt: number, failure?: string }} Call
 */

/** A call that has no answer by then has failed; more than our own limit for a call. */
const ANSWER_WITHIN_MS = 45_000
/** Node's servers keep a connection for 5 s that nobody uses, and say so. Whoever used it then would meet its end. */
const KEPT_MS = 4_000
/** Of so many reasons each is told by itself. */
const MOST_REASONS = 5

/**
 * Calls at a steady pace, whatever becomes of those before: a client that waits for a broken server would ask less of one
 * that breaks longer. Where a call fails the session is opened anew, as clients do.
 * @param {Entrant} entrant
 * @param {{ everyMs: number }} options
 */
export function startSteadyLoad({ contender, open, ...entrant }, { everyMs }) {
  let { workload } = entrant
  /** @type {Call[]} */
  const calls = []
  /** @type {Set<Promise<void>>} */
  const underWay = new Set()
  /** @type {{ connection: Connection, since: number }[]} */
  const free = []
  /** @type {Set<(call: Call) => void>} */
  const watchers = new Set()

  async function call() {
    const begunAt = performance.now()
    const failure = await attempt()
    const done = { begunAt, endedAt: performance.now(), ...(failure !== undefined && { failure }) }
    calls.push(done)
    for (const watch of watchers) watch(done)
    if (failure !== undefined) workload = await inTime(open()).catch(() => workload)
  }

  /** @returns {Promise<string | undefined>} why it failed */
  async function attempt() {
    const connecting = connection()
    const asking = connecting.then(async connection => {
      const { text, isRight } = workload()
      const answer = await connection.ask(text)
      if (!isRight(answer)) throw new Error(reasonIn(answer))
      free.push({ connection, since: performance.now() })
    })
    try {
      await inTime(asking)
      return undefined
    } catch (error) {
      connecting.then(
        connection => connection.close(),
        () => {},
      )
      return reasonOf(error)
    }
  }

  /** One that is kept may have been closed by the other side meanwhile. */
  async function connection() {
    for (let kept = free.pop(); kept; kept = free.pop()) {
      const { connection, since } = kept
      if (connection.isOpen() && performance.now() - since < KEPT_MS) return connection
      connection.close()
    }
    return connectTo(contender)
  }

  function begin() {
    const one = call().finally(() => underWay.delete(one))
    underWay.add(one)
  }
  const timer = setInterval(begin, everyMs)

  return {
    calls,
    /**
     * How long after a moment the first call was answered that had begun after it; nothing when that took too long.
     * @param {number} moment
     * @param {number} patienceMs
     * @returns {Promise<number | undefined>}
     */
    answeredAfter(moment, patienceMs) {
      /** @type {(call: Call) => void} */
      let watch = () => {}
      const answered = new Promise(resolve => {
        watch = ({ begunAt, endedAt, failure }) => {
          if (begunAt >= moment && failure === undefined) resolve(endedAt - moment)
        }
        watchers.add(watch)
      })
      const patience = new AbortController()
      return Promise.race([answered, wait(patienceMs, undefined, { signal: patience.signal })]).finally(() => {
        watchers.delete(watch)
        patience.abort()
      })
    },
    /** Ends it, when all that is under way has ended. */
    async stop() {
      clearInterval(timer)
      await Promise.all(underWay)
      for (const { connection } of free) connection.close()
      return calls
    },
  }
}

/**
 * @template T
 * @param {Promise<T>} work
 * @returns {Promise<T>}
 */
function inTime(work) {
  return new Promise((resolve, reject) => {
    const tooLate = () => reject(new Error(`No answer within ${ANSWER_WITHIN_MS} ms.`))
    const timer = setTimeout(tooLate, ANSWER_WITHIN_MS)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** @param {readonly Call[]} calls */
export const failuresOf = calls => calls.filter(({ failure }) => failure !== undefined)

/**
 * What failed calls were told, and how many of them each: a number alone helps nobody to fix it.
 * @param {string} name
 * @param {readonly Call[]} calls
 */
export function failureReasons(name, calls) {
  /** @type {Map<string, number>} */
  const counts = new Map()
  for (const { failure } of failuresOf(calls)) if (failure) counts.set(failure, (counts.get(failure) ?? 0) + 1)
  const reasons = [...counts].sort(([, a], [, b]) => b - a)
  const rest = reasons.slice(MOST_REASONS)
  const others = rest.reduce((sum, [, count]) => sum + count, 0)
  return [
    ...reasons.slice(0, MOST_REASONS).map(([reason, count]) => figure(`${name}, failed: ${reason}`, count, 'calls')),
    ...(others === 0 ? [] : [figure(`${name}, failed for ${rest.length} other reasons`, others, 'calls')]),
  ]
}

/** @param {readonly Call[]} calls */
export const latenciesOf = calls => calls.map(({ begunAt, endedAt }) => endedAt - begunAt)
