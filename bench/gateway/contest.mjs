// @ts-check
import { figureOfRounds, gap } from '../lib/figure.mjs'
import { median, p99, ratio } from '../lib/statistics.mjs'
import { runRound } from './load.mjs'

/** @typedef {import('../lib/figure.mjs').Figure} Figure */
/** @typedef {import('../lib/figure.mjs').Gap} Gap */
/** @typedef {import('./load.mjs').Load} Load */
/** @typedef {import('./load.mjs').Runner} Runner */
/** @typedef {import('./load.mjs').Round} Round */

/** A server runs for days, so what is measured is one whose code the engine has optimised. */
const WARM_UP_TIMES = 10
/** The processor time that a call may cost the gateway. */
const CPU_US = 500

/**
 * @typedef {object} Contest
 * @property {readonly number[]} inFlight how many requests are under way, one setting after the other
 * @property {number} warmUp
 * @property {number} rounds
 * @property {number} calls in each round
 * @property {number} [withinMs] no call of a round begins later than this
 * @property {'calls/s' | 'lists/s'} [unit]
 */

/**
 * Measures servers against each other, in turns: what a shared machine does meanwhile then happens to all of them alike.
 * The first is ours, and its figures are set against those of each other.
 * @param {readonly Runner[]} runners
 * @param {Contest} contest
 * @returns {Promise<(Figure | Gap)[]>}
 */
export async function contest(runners, { inFlight, warmUp, rounds, calls, withinMs, unit = 'calls/s' }) {
  const bounded = withinMs === undefined ? {} : { withinMs }
  const field = createField(runners)
  const warming = withinMs === undefined ? {} : { withinMs: WARM_UP_TIMES * withinMs }
  for (const runner of runners) await field.round(runner, { calls: warmUp, inFlight: 16, ...warming })
  // Several may be of one server, which has one profile.
  const servers = new Set(runners.map(({ contender }) => contender.server))
  for (const { profiler } of servers) await profiler?.start()
  const figures = []
  for (const level of inFlight) {
    const measured = await inTurns(field, { rounds, calls, inFlight: level, ...bounded })
    figures.push(...figuresOf(measured, { inFlight: level, unit }))
  }
  for (const { profiler } of servers) await profiler?.stop()
  return [...figures, ...field.gaps]
}

/** @typedef {ReturnType<typeof createField>} Field */

/**
 * Those that are still in. A guest that fails is told of and left out from there on.
 * @param {readonly Runner[]} runners
 */
function createField(runners) {
  /** @type {Gap[]} */
  const gaps = []
  /** @type {Set<Runner>} */
  const inside = new Set(runners)
  return {
    gaps,
    inside,
    /**
     * @param {Runner} runner
     * @param {Load} load
     */
    async round(runner, load) {
      if (!inside.has(runner)) return undefined
      try {
        return await runRound(runner, load)
      } catch (error) {
        if (!runner.isGuest) throw error
        inside.delete(runner)
        gaps.push(gap(`${load.inFlight} in flight, ${runner.contender.name}`, error))
        return undefined
      }
    },
  }
}

/**
 * @param {Field} field
 * @param {Load & { rounds: number }} load
 * @returns {Promise<Measured[]>}
 */
async function inTurns(field, { rounds, ...load }) {
  const results = [...field.inside].map(runner => ({ runner, rounds: /** @type {Round[]} */ ([]) }))
  for (let i = 0; i < rounds; i++)
    for (const { runner, rounds } of results) {
      const round = await field.round(runner, load)
      if (round) rounds.push(round)
    }
  const whole = results.filter(({ runner }) => field.inside.has(runner))
  return whole.map(({ runner, rounds }) => ({ runner, name: runner.contender.name, ...resultsOf(rounds) }))
}

/** @typedef {ReturnType<typeof resultsOf> & { name: string, runner: Runner }} Measured */

/** What came of each round, in their order. @param {readonly Round[]} rounds */
function resultsOf(rounds) {
  return {
    p50: rounds.map(({ latenciesMs }) => median(latenciesMs)),
    p99: rounds.map(({ latenciesMs }) => p99(latenciesMs)),
    perSecond: rounds.map(({ perSecond }) => perSecond),
    cpuUs: rounds.map(({ cpuUs, latenciesMs }) => cpuUs / latenciesMs.length),
  }
}

/** @typedef {{ inFlight: number, unit: 'calls/s' | 'lists/s' }} Setting */

/**
 * @param {readonly Measured[]} measured
 * @param {Setting} setting
 */
function figuresOf(measured, setting) {
  const title = `${setting.inFlight} in flight`
  const plain = measured.flatMap(({ name, p50, p99, perSecond, cpuUs }, i) => [
    figureOfRounds(`${title}, ${name}, p50`, p50, 'ms'),
    figureOfRounds(`${title}, ${name}, p99`, p99, 'ms'),
    figureOfRounds(`${title}, ${name}`, perSecond, setting.unit),
    figureOfRounds(
      `${title}, ${name}, processor time of each`,
      cpuUs,
      'µs',
      i === 0 && setting.unit === 'calls/s' ? CPU_US : undefined,
    ),
  ])
  const [ours, ...others] = measured
  const ratios = others.flatMap(theirs => (ours ? ratiosOf(ours, theirs, setting) : []))
  return [...plain, ...ratios]
}

/**
 * Round by round: what a shared machine did in one was done to both.
 * @param {Measured} ours
 * @param {Measured} theirs
 * @param {Setting} setting
 */
function ratiosOf(ours, theirs, { inFlight, unit }) {
  const pair = `${inFlight} in flight, ${ours.name} against ${theirs.name}`
  // With many in flight the time on the clock is that of waiting for a turn, which the processor time tells better.
  const { times, moreMs } = inFlight === 1 ? (theirs.runner.allowed ?? {}) : {}
  const beyond = eachRound(ours.p50, theirs.p50, (own, other) => own - other)
  return [
    figureOfRounds(`${pair}, p50`, eachRound(ours.p50, theirs.p50, ratio), 'times', times),
    ...(moreMs === undefined ? [] : [figureOfRounds(`${pair}, p50 beyond it`, beyond, 'ms', moreMs)]),
    figureOfRounds(`${pair}, ${unit}`, eachRound(ours.perSecond, theirs.perSecond, ratio), 'times'),
    figureOfRounds(`${pair}, processor time`, eachRound(ours.cpuUs, theirs.cpuUs, ratio), 'times'),
  ]
}

/**
 * @param {readonly number[]} ours
 * @param {readonly number[]} theirs
 * @param {(own: number, other: number) => number} compare
 */
const eachRound = (ours, theirs, compare) => ours.map((own, i) => compare(own, theirs[i] ?? Number.NaN))
