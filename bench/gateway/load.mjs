// @ts-check
import { openConnection } from './connection.mjs'

/** @typedef {import('../lib/stage.mjs').Contender} Contender */
/** @typedef {import('./connection.mjs').Connection} Connection */
/** @typedef {import('./workloads.mjs').Workload} Workload */

/**
 * @typedef {object} Runner
 * @property {Contender} contender
 * @property {Workload} workload
 * @property {{ times?: number, moreMs?: number }} [allowed] what the first of a contest may take against this one
 * @property {boolean} [isGuest] whether the rest goes on without it when it fails
 */

/** @typedef {{ latenciesMs: number[], perSecond: number, cpuUs: number }} Round */

/**
 * @typedef {object} Load
 * @property {number} calls
 * @property {number} inFlight
 * @property {number} [withinMs] no call begins later than this, however few there were
 */

/**
 * Asks so many times, with so many requests under way at any moment, each on a connection of its own.
 * @param {Runner} runner
 * @param {Load} load
 * @returns {Promise<Round>}
 */
export async function runRound({ contender, workload }, { calls, inFlight, withinMs = Number.POSITIVE_INFINITY }) {
  const { server, name } = contender
  const connections = await Promise.all(Array.from({ length: inFlight }, () => connectTo(contender)))
  /** @type {number[]} */
  const latenciesMs = []
  let left = calls
  const before = server.usage()
  const startedAt = performance.now()
  const isOver = () => left-- <= 0 || performance.now() - startedAt > withinMs
  /** @param {Connection} connection */
  const caller = async connection => {
    while (!isOver()) latenciesMs.push(await timed(connection, workload, name))
  }
  try {
    await Promise.all(connections.map(caller))
    const seconds = (performance.now() - startedAt) / 1000
    return { latenciesMs, perSecond: latenciesMs.length / seconds, cpuUs: server.usage().cpuUs - before.cpuUs }
  } finally {
    for (const connection of connections) connection.close()
  }
}

/**
 * @param {Contender} contender
 * @returns {Promise<Connection>}
 */
export const connectTo = ({ connect, server }) => (connect ? connect() : openConnection(server.url))

/**
 * @param {Connection} connection
 * @param {Workload} workload
 * @param {string} name
 */
async function timed(connection, workload, name) {
  const { text, isRight } = workload()
  const startedAt = performance.now()
  const answer = await connection.ask(text)
  const ms = performance.now() - startedAt
  if (!isRight(answer)) throw new Error(`${name} gave a wrong answer: ${answer.head}\n${answer.body.slice(0, 1_000)}`)
  return ms
}
