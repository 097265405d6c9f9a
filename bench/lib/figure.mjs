// @ts-check

/** @typedef {'ms' | 'µs' | 'MB' | 'times' | 'of a build' | 'calls/s' | 'lists/s' | 'commits/s' | 'reads/s' | 'commits' | 'probes' | '%' | 'tools' | 'questions'} Unit */

/**
 * One measured number, and the most it should be.
 * @typedef {object} Figure
 * @property {string} what
 * @property {number} measured
 * @property {Unit} unit
 * @property {number} [goal]
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
 * @param {Figure} figure
 * @returns {'ok' | 'over' | undefined}
 */
export function verdictOf({ measured, goal }) {
  if (goal === undefined) return undefined
  return measured <= goal ? 'ok' : 'over'
}
