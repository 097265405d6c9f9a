import type { Ranked } from './ranking.ts'

/** Each further one that a need cannot tell from the one before is worth this part of it, once the need had its share. */
const ONE_MORE_OF_THE_SAME = 0.7
/** Scores this close together say nothing about which is better. */
const INDISTINCT = 0.98

/**
 * The best of several needs in one order, scores falling. Many that answer one need equally well get no more than its
 * share of the places before the other needs had theirs; one that stands out keeps its place.
 */
export function shareOut(
  needs: readonly (readonly Ranked[])[],
  places: number,
  compare: (a: Ranked, b: Ranked) => number,
): Ranked[] {
  const share = Math.ceil(places / needs.length)
  const all = needs.flatMap(need => discounted(need, share))
  return all.sort(compare).slice(0, Math.max(0, places))
}

/** Best first, as it comes in; what is behind the share falls with every one that is not different. */
function discounted(need: readonly Ranked[], share: number): Ranked[] {
  let worth = 1
  return need.map(({ slot, score }, i) => {
    const before = need[i - 1]?.score ?? Number.POSITIVE_INFINITY
    if (i >= share && score >= INDISTINCT * before) worth *= ONE_MORE_OF_THE_SAME
    return { slot, score: score * worth }
  })
}
