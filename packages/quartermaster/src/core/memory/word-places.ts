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
  function remembered(words: readonly string[], scope: WordScope): Promise<Known> {
    return Promise.all(words.map(word => (counts.isRemembered(word, scope) ? counts.of(word, scope) : undefined)))
  }

  async function lookAt(wanted: readonly WantedWord[], scope: WordScope): Promise<readonly Look[]> {
    const lists = await search.newest(wanted, scope)
    return wanted.map((one, i) => ({ ...one, slots: lists[i] ?? [] }))
  }

  /** As if there were no words but those that are known: then nothing has to be read a second time, only left out. */
  function firstLook(words: readonly string[], scope: WordScope, known: Known): Promise<readonly Look[]> {
    const most = shared(known.map(having => having ?? 0))
    const wanted = words.map((word, i) => ({ word, most: known[i] === undefined ? FIRST_LOOK : (most[i] ?? 0) }))
    return lookAt(wanted, scope)
  }

  /** How many have a word of which nothing was known. */
  async function countedBy({ word, slots }: Look, scope: WordScope): Promise<number> {
    return slots.length < MANY ? slots.length : counts.of(word, scope)
  }

  /** Where each word stands, as far as it may be looked at: of those that were cut short the rest is read. */
  async function readOn(looks: readonly Look[], scope: WordScope, most: readonly number[]): Promise<readonly Look[]> {
    const longer = looks.map(({ word }, i) => ({ word, most: most[i] ?? 0 }))
    const cut = longer.filter((wanted, i) => isCut(looks[i], wanted))
    const read = new Map(cut.length === 0 ? [] : (await lookAt(cut, scope)).map(look => [look.word, look]))
    return looks.map(look => read.get(look.word) ?? look)
  }

  return async (words, scope, told) => {
    const known = told ?? (await remembered(words, scope))
    const looks = await firstLook(words, scope, known)
    const having = await Promise.all(looks.map((look, i) => known[i] ?? countedBy(look, scope)))
    const most = shared(having)
    const read = await readOn(looks, scope, most)
    return read.map(({ slots }, i) => ({ having: having[i] ?? 0, slots: slots.slice(0, most[i]) }))
  }
}

/** How many have each word; of those that are absent it is not known. */
type Known = readonly (number | undefined)[]

/** What was read of a word. */
interface Look extends WantedWord {
  readonly slots: readonly number[]
}

function isCut(look: Look | undefined, { most }: WantedWord): boolean {
  return look !== undefined && look.slots.length === look.most && most > look.slots.length
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
