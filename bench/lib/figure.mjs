// @ts-check

/** @typedef {'ms' | 'µs' | 'MB' | 'times' | 'of a build' | 'calls/s' | 'lists/s' | 'commits/s' | 'reads/s' | 'commits' | 'probes' | '%' | 'tools' | 'questions' | 'calls' | 'starts'} Unit */

/**
 * One measured number, and the most it should be.
 * @typedef {object} Figure
 * @property {string} what
 * @property {number} measured
 * @property {Unit} unit
 * @property {number} [goal]
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
