// @ts-check
import { openConnection } from './connection.mjs'

/** @typedef {import('./contenders.mjs').Contender} Contender */
/** @typedef {import('./connection.mjs').Connection} Connection */
/** @typedef {import('./workloads.mjs').Workload} Workload */

/** @typedef {{ contender: Contender, workload: Workload }} Runner */

/** @typedef {{ latenciesMs: number[], perSecond: number, cpuUs: number }} Round */

/**
 * Asks so many times, with so many requests under way at any moment, each on a connection of its own.
 * @param {Runner} runner
 * @param {{ calls: number, inFlight: number }} load
 * @returns {Promise<Round>}
 */
export async function runRound({ contender, workload }, { calls, inFlight }) {
  const { server, name } = contender
  const connections = await Promise.all(Array.from({ length: inFlight }, () => openConnection(server.url)))
  /** @type {number[]} */
  const latenciesMs = []
  let left = calls
  /** @param {Connection} connection */
  const caller = async connection => {
    while (left-- > 0) latenciesMs.push(await timed(connection, workload, name))
  }
  const before = server.usage()
  const startedAt = performance.now()
  try {
    await Promise.all(connections.map(caller))
    const seconds = (performance.now() - startedAt) / 1000
    return { latenciesMs, perSecond: calls / seconds, cpuUs: server.usage().cpuUs - before.cpuUs }
  } finally {
    for (const connection of connections) connection.close()
  }
}

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
