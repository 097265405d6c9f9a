/** A piece of each of two texts, from here to there: what the one has in place of what the other has. */
export interface DifferingPlace {
  readonly one: Range
  readonly other: Range
}

export type Range = readonly [from: number, to: number]

/** As much as two texts must have in common to be in step again. */
const BLOCK = 32

/** Where two texts differ, in their order. Everything between these places is the same in both. */
export function differingPlaces(one: string, other: string): DifferingPlace[] {
  const start = sharedLength(one, other)
  const end = sharedEnd(one, other, start)
  const within = { start, oneEnd: one.length - end, otherEnd: other.length - end }
  const places: DifferingPlace[] = []
  let [at, otherAt] = [start, start]
  const takeUntil = (next: number, otherNext: number) => {
    if (next > at || otherNext > otherAt) places.push({ one: [at, next], other: [otherAt, otherNext] })
  }
  for (const [found, otherFound] of inOrder(sharedBlocks(one, other, within))) {
    if (found < at || otherFound < otherAt) continue
    let back = 0
    const most = Math.min(found - at, otherFound - otherAt)
    while (back < most && one[found - back - 1] === other[otherFound - back - 1]) back++
    takeUntil(found - back, otherFound - back)
    at = found
    otherAt = otherFound
    for (; at < within.oneEnd && otherAt < within.otherEnd && one[at] === other[otherAt]; at++) otherAt++
  }
  takeUntil(within.oneEnd, within.otherEnd)
  return places
}

/** How much of their beginnings is the same. */
export function sharedLength(one: string, other: string): number {
  let same = 0
  while (same < one.length && one[same] === other[same]) same++
  return same
}

/** How much of their ends is the same, behind what they begin with alike. */
function sharedEnd(one: string, other: string, start: number): number {
  const most = Math.min(one.length, other.length) - start
  let same = 0
  while (same < most && one.at(-1 - same) === other.at(-1 - same)) same++
  return same
}

/** Where something stands in both texts. */
type Pair = readonly [at: number, otherAt: number]

/** Blocks that the one has once, wherever the other has them, in the order of the other. */
function sharedBlocks(
  one: string,
  other: string,
  { start, oneEnd, otherEnd }: { start: number; oneEnd: number; otherEnd: number },
): Pair[] {
  const places = new Map<string, number>()
  for (let at = start; at + BLOCK <= oneEnd; at += BLOCK) {
    const block = one.slice(at, at + BLOCK)
    places.set(block, places.has(block) ? -1 : at)
  }
  const pairs: Pair[] = []
  for (let otherAt = start; otherAt + BLOCK <= otherEnd; otherAt++) {
    const at = places.get(other.slice(otherAt, otherAt + BLOCK)) ?? -1
    if (at >= 0) pairs.push([at, otherAt])
  }
  return pairs
}

/**
 * As many of them as stand in the same order in both texts: what was copied to another place must not get the rest out of
 * step. The longest row that grows, by the last of each row so far.
 */
function inOrder(pairs: readonly Pair[]): Pair[] {
  interface Link {
    readonly pair: Pair
    readonly before: Link | undefined
  }
  const lasts: Link[] = []
  for (const pair of pairs) {
    let [low, high] = [0, lasts.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((lasts[middle] as Link).pair[0] < pair[0]) low = middle + 1
      else high = middle
    }
    lasts[low] = { pair, before: lasts[low - 1] }
  }
  const row: Pair[] = []
  for (let link = lasts.at(-1); link; link = link.before) row.push(link.pair)
  return row.toReversed()
}
