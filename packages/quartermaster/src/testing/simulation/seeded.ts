import type { Ids } from '../../core/kernel/index.ts'

/** Numbers that look random and are the same for the same seed. */
export interface Seeded {
  /** In [0, 1). */
  next(): number
  /** A whole number below this. */
  below(limit: number): number
  pick<T>(from: readonly T[]): T
  /** Whether something happens that happens this often. */
  chance(probability: number): boolean
}

/** Mulberry32: small, and good enough to draw schedules. */
export function createSeeded(seed: number): Seeded {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    next,
    below,
    pick: from => from[below(from.length)] as (typeof from)[number],
    chance: probability => next() < probability,
  }
}

/** Ids in the order in which they are made: a schedule that failed has the same when it is run again. */
export function createCountedIds(name: string): Ids {
  let count = 0
  const next = (prefix: string) => `${prefix}_${name}${String(++count).padStart(6, '0')}`
  return { next, secret: next }
}
