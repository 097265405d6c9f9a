export interface FullnessOptions<T> {
  readonly most: number
  readonly keyOf: (place: T) => string
  readonly count: (place: T) => Promise<number>
}

/** Of so many places it is known; then it is begun anew. */
const MOST_KNOWN = 10_000

/**
 * Whether a place takes no more. To count thousands of rows for each would cost more than what is put there, so that it is
 * counted seldom: in between as many are let in as are half of what was free, which leaves the other half to another process
 * that does the same.
 */
export function createFullness<T>({ most, keyOf, count }: FullnessOptions<T>): (place: T) => Promise<boolean> {
  const free = new Map<string, number>()
  return async place => {
    const key = keyOf(place)
    const left = free.get(key) ?? 0
    if (left > 0) {
      free.set(key, left - 1)
      return false
    }
    const held = await count(place)
    if (free.size >= MOST_KNOWN) free.clear()
    free.set(key, Math.floor((most - held) / 2))
    return held >= most
  }
}
