import type { Clock } from '../kernel/index.ts'
import type { WantedWord, WordScope, WordSearch } from '../store/index.ts'
import { MOST_ASKED } from './memory-words.ts'
import { createWordCounts, MANY } from './word-counts.ts'

/** Where a word of a question stands. */
export interface WordPlaces {
  /** How many memories have it. */
  readonly having: number
  /** The newest of them, by their slots: all of them where it is rare. */
  readonly slots: readonly number[]
}

/** Finds where words stand. How many have each is told where it was found out before. */
export type WordPlacesFinder = (
  words: readonly string[],
  scope: WordScope,
  counts?: readonly number[],
) => Promise<readonly WordPlaces[]>

/** Rows that are weighed for a question, all words together: those of the rare ones whole, then the newest of the others. */
export const MOST_LOOKS = 6_000
/** As many are read of a word at first of which nothing is known. */
const FIRST_LOOK = MOST_LOOKS / MOST_ASKED

/**
 * Most words of a question are rare: then to read where they stand is to count them, and both are done at once. Of the others it
 * is mostly known by then how many have them.
 */
export function createWordPlaces(search: WordSearch, clock: Clock): WordPlacesFinder {
  const counts = createWordCounts(search, clock)

  /** How many have each word, as far as that need not be counted now. */
  function remembered(words: readonly string[], scope: WordScope): Promise<readonly (number | undefined)[]> {
    return Promise.all(words.map(word => (counts.isRemembered(word, scope) ? counts.of(word, scope) : undefined)))
  }

  return async (words, scope, known) => {
    const before = known ?? (await remembered(words, scope))
    // As if there were no others: then nothing has to be read a second time, only left out.
    const first = shared(before.map(having => having ?? 0)).map((most, i) =>
      before[i] === undefined ? FIRST_LOOK : most,
    )
    const lists = await search.newest(wantedOf(words, first), scope)
    const having = await Promise.all(
      words.map((word, i) => before[i] ?? (sizeOf(lists[i]) < MANY ? sizeOf(lists[i]) : counts.of(word, scope))),
    )
    const most = shared(having)
    const isCut = words.map((_, i) => sizeOf(lists[i]) === first[i] && (most[i] ?? 0) > sizeOf(lists[i]))
    const cut = words.map((_, i) => i).filter(i => isCut[i])
    const longer =
      cut.length === 0
        ? []
        : await search.newest(
            wantedOf(
              cut.map(i => words[i] ?? ''),
              cut.map(i => most[i] ?? 0),
            ),
            scope,
          )
    return words.map((_, i) => {
      const slots = isCut[i] ? longer[cut.indexOf(i)] : lists[i]
      return { having: having[i] ?? 0, slots: slots?.slice(0, most[i]) ?? [] }
    })
  }
}

const sizeOf = (slots: readonly number[] | undefined) => slots?.length ?? 0

function wantedOf(words: readonly string[], most: readonly number[]): readonly WantedWord[] {
  return words.map((word, i) => ({ word, most: most[i] ?? 0 }))
}

/** How many of each may be looked at: the rarest first, each with as many as are left. */
function shared(counts: readonly number[]): readonly number[] {
  let left = MOST_LOOKS
  const wanted = counts.map(() => 0)
  for (const i of counts.map((_, at) => at).toSorted((a, b) => (counts[a] ?? 0) - (counts[b] ?? 0))) {
    wanted[i] = Math.min(counts[i] ?? 0, left)
    left -= wanted[i] ?? 0
  }
  return wanted
}
