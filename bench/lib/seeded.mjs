// @ts-check

/**
 * Numbers that look random and are the same for the same seed.
 * @typedef {object} Seeded
 * @property {() => number} next in [0, 1)
 * @property {(limit: number) => number} below a whole number
 * @property {<T>(from: readonly T[]) => T} pick
 * @property {(probability: number) => boolean} chance
 */

/**
 * Mulberry32: small, and good enough to draw moments.
 * @param {number} seed
 * @returns {Seeded}
 */
export function createSeeded(seed) {
  let state = seed >>> 0
  function next() {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (/** @type {number} */ limit) => Math.floor(next() * limit)
  return {
    next,
    below,
    pick: from => /** @type {(typeof from)[number]} */ (from[below(from.length)]),
    chance: probability => next() < probability,
  }
}
