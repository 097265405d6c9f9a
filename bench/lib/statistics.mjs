// @ts-check

/**
 * The value below which this share of the samples lies.
 * @param {readonly number[]} samples
 * @param {number} share
 */
export function quantile(samples, share) {
  const sorted = [...samples].sort((a, b) => a - b)
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  if (value === undefined) throw new Error('There is nothing to take a quantile of.')
  return value
}

/** @param {readonly number[]} samples */
export const median = samples => quantile(samples, 0.5)

/** @param {readonly number[]} samples */
export const p99 = samples => quantile(samples, 0.99)

/** @param {readonly number[]} samples */
export const highest = samples => samples.reduce((most, one) => Math.max(most, one), 0)

/**
 * A run of a few calls may have used less than a tick of processor time; then there is nothing to compare.
 * @param {number} ours
 * @param {number} theirs
 */
export const ratio = (ours, theirs) => (theirs === 0 ? 0 : ours / theirs)
