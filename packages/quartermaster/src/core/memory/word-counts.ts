import type { Clock } from '../kernel/index.ts'
import type { WordScope, WordSearch } from '../store/index.ts'

/** How many memories on these shelves have a word, nearly: only how rare it is depends on it. */
export interface WordCounts {
  of(word: string, scope: Omit<WordScope, 'above'>): Promise<number>
  /** Whether many had it when it was counted last, so that to count it once more costs little. */
  isRemembered(word: string, scope: Omit<WordScope, 'above'>): boolean
}

/** A word that more have says nothing worth counting on. */
const MOST_COUNTED = 10_000
/** Words that fewer have are read faster than it is worth to remember them; those that many have are few. */
export const MANY = 200
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

  function lastOf(word: string, { shelves, upTo }: WordScope): Known | undefined {
    const last = known.get(keyOf(word, shelves))
    return last !== undefined && last.upTo <= upTo && clock.now() - last.countedAt < GOOD_FOR_MS ? last : undefined
  }

  return {
    isRemembered: (word, scope) => lastOf(word, scope) !== undefined,
    async of(word, scope) {
      const base = lastOf(word, scope) ?? { upTo: 0, having: 0, countedAt: clock.now() }
      const most = MOST_COUNTED - base.having
      if (most <= 0 || base.upTo === scope.upTo) return base.having
      const above = base.upTo === 0 ? {} : { above: base.upTo }
      const having = base.having + (await search.count(word, { ...scope, ...above, most }))
      if (having >= MANY) remember(keyOf(word, scope.shelves), { ...base, upTo: scope.upTo, having })
      return having
    },
  }
}

const keyOf = (word: string, shelves: readonly string[]) => `${shelves.join(' ')} ${word}`

interface Known {
  /** Up to this slot. */
  readonly upTo: number
  readonly having: number
  /** When all were counted. */
  readonly countedAt: number
}
