/** Keeps the best of many without sorting all of them. */
export interface Best<V> {
  offer(value: V): void
  /** Best first. */
  values(): V[]
}

/** `compare` puts the better one first, as in a sort. */
export function createBest<V>(limit: number, compare: (a: V, b: V) => number): Best<V> {
  const kept: V[] = []
  return {
    offer(value) {
      const last = kept[limit - 1]
      if (limit < 1 || (last !== undefined && compare(value, last) >= 0)) return
      kept.splice(placeOf(value, kept, compare), 0, value)
      if (kept.length > limit) kept.pop()
    },
    values: () => kept,
  }
}

function placeOf<V>(value: V, kept: readonly V[], compare: (a: V, b: V) => number): number {
  let [low, high] = [0, kept.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (compare(kept[middle] as V, value) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
