import type { Clock } from '../kernel/index.ts'
import type { WordScope, WordSearch } from '../store/index.ts'

/** How many memories on these shelves have a word, nearly: only how rare it is depends on it. */
export type WordCounts = (word: string, scope: Omit<WordScope, 'above'>) => Promise<number>

/** A word that more have says nothing worth counting on. */
const MOST_COUNTED = 10_000
/** Words that fewer have are counted faster than it is worth to remember them; those that many have are few. */
const MANY = 200
/** What was forgotten since is counted until then. */
const GOOD_FOR_MS = 10 * 60_000
const MOST_WORDS = 10_000

/**
 * To count a word that many have takes as long as all else of a recall, and such words are in every other question. So they are
 * remembered, and only what came since is counted. What is remembered of some shelves is for those who read the very same.
 */
export function createWordCounts(search: Pick<WordSearch, 'count'>, clock: Clock): WordCounts {
  const known = new Map<string, Known>()

  function remember(key: string, count: Known): void {
    if (known.size >= MOST_WORDS && !known.has(key)) known.clear()
    known.set(key, count)
  }

  return async (word, scope) => {
    const key = JSON.stringify([word, scope.shelves])
    const last = known.get(key)
    const isGood = last !== undefined && last.upTo <= scope.upTo && clock.now() - last.countedAt < GOOD_FOR_MS
    const base = isGood ? last : { upTo: 0, having: 0, countedAt: clock.now() }
    const most = MOST_COUNTED - base.having
    if (most <= 0 || base.upTo === scope.upTo) return base.having
    const above = base.upTo === 0 ? {} : { above: base.upTo }
    const having = base.having + (await search.count(word, { ...scope, ...above, most }))
    if (having >= MANY) remember(key, { ...base, upTo: scope.upTo, having })
    return having
  }
}

interface Known {
  /** Up to this slot. */
  readonly upTo: number
  readonly having: number
  /** When all were counted. */
  readonly countedAt: number
}
