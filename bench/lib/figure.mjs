// @ts-check
import { median } from './statistics.mjs'

/** @typedef {'ms' | 'µs' | 'MB' | 'times' | 'of a build' | 'calls/s' | 'lists/s' | 'commits/s' | 'reads/s' | 'commits' | 'runs/s' | 'runs' | 'operations' | 'probes' | '%' | 'tools' | 'units' | 'questions' | 'conversations' | 'memories' | 'things' | 'messages/s' | 'calls' | 'starts'} Unit */

/**
 * One measured number, and the most it should be.
 * @typedef {object} Figure
 * @property {string} what
 * @property {number} measured
 * @property {Unit} unit
 * @property {number} [goal]
 * @property {{ least: number, most: number }} [rounds] where it is the median of several
 * @property {true} [isPromise] whether a figure over its goal is a promise broken, and not only slow
 */

/**
 * What could not be measured, and why.
 * @typedef {{ what: string, reason: string }} Gap
 */

/**
 * A number without a goal explains the others.
 * @param {string} what
 * @param {number} measured
 * @param {Unit} unit
 * @param {number} [goal]
 * @returns {Figure}
 */
export function figure(what, measured, unit, goal) {
  return goal === undefined ? { what, measured, unit } : { what, measured, unit, goal }
}

/**
 * How often something happened that must never happen.
 * @param {string} what
 * @param {number} measured
 * @param {Unit} unit
 * @returns {Figure}
 */
export function never(what, measured, unit) {
  return { what, measured, unit, goal: 0, isPromise: true }
}

/**
 * The promises that did not hold, in words.
 * @param {readonly (Figure | Gap)[]} rows
 * @returns {string[]}
 */
export function brokenIn(rows) {
  return rows.flatMap(row =>
    'isPromise' in row && verdictOf(row) === 'over' ? [`${row.what}: ${row.measured} ${row.unit}`] : [],
  )
}

/**
 * The median of what several rounds gave, and how far they were apart.
 * @param {string} what
 * @param {readonly number[]} rounds
 * @param {Unit} unit
 * @param {number} [goal]
 * @returns {Figure}
 */
export function figureOfRounds(what, rounds, unit, goal) {
  const spread = { least: Math.min(...rounds), most: Math.max(...rounds) }
  return { ...figure(what, median(rounds), unit, goal), rounds: spread }
}

/**
 * @param {string} what
 * @param {unknown} error
 * @returns {Gap}
 */
export function gap(what, error) {
  const text = error instanceof Error ? error.message : String(error)
  return { what, reason: text.replace(/\s+/g, ' ').trim().slice(0, MOST_REASON) }
}

/** The end of a stack helps nobody who reads a table. */
const MOST_REASON = 200

/**
 * @param {Figure | Gap} row
 * @returns {'ok' | 'over' | undefined}
 */
export function verdictOf(row) {
  if ('reason' in row || row.goal === undefined) return undefined
  return row.measured <= row.goal ? 'ok' : 'over'
}
