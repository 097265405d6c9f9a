// @ts-check
import { figure } from '../lib/figure.mjs'
import { median, p99 } from '../lib/statistics.mjs'
import { runRound } from './load.mjs'

/** @typedef {import('../lib/figure.mjs').Figure} Figure */
/** @typedef {import('./load.mjs').Runner} Runner */
/** @typedef {import('./load.mjs').Round} Round */

/** The processor time that a call may cost the gateway. */
const CPU_US = 500

/**
 * @typedef {object} Contest
 * @property {readonly number[]} inFlight how many requests are under way, one setting after the other
 * @property {number} warmUp
 * @property {number} rounds
 * @property {number} calls in each round
 * @property {'calls/s' | 'lists/s'} [unit]
 */

/**
 * Measures servers against each other, in turns: what a shared machine does meanwhile then happens to all of them alike.
 * The first is ours, and its figures are set against those of each other.
 * @param {readonly Runner[]} runners
 * @param {Contest} contest
 * @returns {Promise<Figure[]>}
 */
export async function contest(runners, { inFlight, warmUp, rounds, calls, unit = 'calls/s' }) {
  for (const runner of runners) await runRound(runner, { calls: warmUp, inFlight: 16 })
  for (const { contender } of runners) await contender.server.profiler?.start()
  const figures = []
  for (const level of inFlight) {
    const measured = await inTurns(runners, { rounds, calls, inFlight: level })
    figures.push(...figuresOf(measured, `${level} in flight`, unit))
  }
  for (const { contender } of runners) await contender.server.profiler?.stop()
  return figures
}

/**
 * @param {readonly Runner[]} runners
 * @param {{ rounds: number, calls: number, inFlight: number }} load
 */
async function inTurns(runners, { rounds, ...load }) {
  /** @type {Round[][]} */
  const results = runners.map(() => [])
  for (let round = 0; round < rounds; round++)
    for (const [i, runner] of runners.entries()) results[i]?.push(await runRound(runner, load))
  return runners.map(({ contender }, i) => ({ name: contender.name, ...totalOf(results[i] ?? []) }))
}

/** @typedef {ReturnType<typeof totalOf> & { name: string }} Measured */

/** @param {readonly Round[]} rounds */
function totalOf(rounds) {
  const latencies = rounds.flatMap(({ latenciesMs }) => latenciesMs)
  const cpuUs = rounds.reduce((sum, round) => sum + round.cpuUs, 0)
  return {
    p50: median(latencies),
    p99: p99(latencies),
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    cpuUs: cpuUs / latencies.length,
  }
}

/**
 * @param {readonly Measured[]} measured
 * @param {string} title
 * @param {'calls/s' | 'lists/s'} unit
 */
function figuresOf(measured, title, unit) {
  const plain = measured.flatMap(({ name, p50, p99, perSecond, cpuUs }, i) => [
    figure(`${title}, ${name}, p50`, p50, 'ms'),
    figure(`${title}, ${name}, p99`, p99, 'ms'),
    figure(`${title}, ${name}`, perSecond, unit),
    figure(
      `${title}, ${name}, processor time of each`,
      cpuUs,
      'µs',
      i === 0 && unit === 'calls/s' ? CPU_US : undefined,
    ),
  ])
  const [ours, ...others] = measured
  const ratios = others.flatMap(theirs => (ours ? ratiosOf(ours, theirs, { title, unit }) : []))
  return [...plain, ...ratios]
}

/**
 * @param {Measured} ours
 * @param {Measured} theirs
 * @param {{ title: string, unit: string }} labels
 */
function ratiosOf(ours, theirs, { title, unit }) {
  const pair = `${title}, ${ours.name} against ${theirs.name}`
  return [
    figure(`${pair}, p50`, ratio(ours.p50, theirs.p50), 'times'),
    figure(`${pair}, ${unit}`, ratio(ours.perSecond, theirs.perSecond), 'times'),
    figure(`${pair}, processor time`, ratio(ours.cpuUs, theirs.cpuUs), 'times'),
  ]
}

/**
 * A run of a few calls may have used less than a tick of processor time; then there is nothing to compare.
 * @param {number} ours
 * @param {number} theirs
 */
const ratio = (ours, theirs) => (theirs === 0 ? 0 : ours / theirs)
