import type { MemoryRow } from '../../contracts/index.ts'
import type { Clock } from '../kernel/index.ts'
import type { Store } from '../store/index.ts'
import type { Candidate } from './candidate.ts'
import { REACH } from './hearing.ts'
import type { AskedWord } from './memory-words.ts'
import { createNeighbours, type NeighbourScope } from './neighbours.ts'
import { type RankedWord, rarity, type WordFacts } from './voices.ts'
import { createWordPlaces, type WordPlaces } from './word-places.ts'

/** A row that has words of a question, and what these say for it together. */
export interface Fit {
  readonly slot: number
  readonly fit: number
}

/** Finds memories that may answer a question. */
export interface Candidates {
  /** The rows that the database finds, the most fitting first, and what is known of the words. */
  fitting(
    asked: readonly AskedWord[],
    known: { readonly total: number; readonly counts?: readonly number[] | undefined },
    scope: NeighbourScope,
  ): Promise<{ readonly fits: readonly Fit[]; readonly facts: WordFacts }>
  /** Those of these rows that are there, and what stands beside them. */
  gather(fits: readonly Fit[], scope: NeighbourScope): Promise<readonly Candidate[]>
}

/** From how many the best are chosen. What the question's rarest words do not bring among these is no answer to it. */
const MOST_CANDIDATES = 100
/** Around how many of them it is looked for what was said before and after. */
const MOST_FOLLOWED = 60
const COLUMNS = ['id', 'slot', 'shelf', 'previousId', 'words', 'createdAt', 'conversationId'] as const
type Found = Pick<MemoryRow, (typeof COLUMNS)[number]>

export function createCandidates(store: Store, clock: Clock): Candidates {
  const neighbours = createNeighbours(store)
  const placesOf = createWordPlaces(store.words, clock)

  /** What may answer only because of what it stands beside: it is part of a conversation. */
  async function around(best: readonly Found[], scope: NeighbourScope): Promise<readonly Found[]> {
    const spoken = best.filter(({ conversationId }) => conversationId !== null)
    const before = neighbours.before(spoken, scope, COLUMNS)
    const found: Found[] = []
    let edge: readonly Found[] = spoken
    for (let step = 0; step < REACH && edge.length > 0; step++) {
      edge = await neighbours.after(edge, scope, COLUMNS)
      found.push(...edge)
    }
    return [...found, ...(await before)]
  }

  return {
    async fitting(asked, { total, counts }, { shelves, upTo }) {
      const sought = asked.map(({ word }) => word)
      const places = await placesOf(sought, { shelves, upTo }, counts)
      const words = asked.map((one, i): RankedWord => ({ ...one, having: places[i]?.having ?? 0 }))
      return { fits: mostFitting(words, places, total), facts: { words, total } }
    },
    async gather(fits, scope) {
      if (fits.length === 0) return []
      const slots = fits.map(({ slot }) => slot)
      const query = { where: { slot: { in: slots } }, limit: slots.length, columns: COLUMNS }
      // One that was changed meanwhile may lie elsewhere by now.
      const found = (await store.find('memories', query)).filter(({ shelf }) => scope.shelves.includes(shelf))
      const best = new Set(slots.slice(0, MOST_FOLLOWED))
      const followed = found.filter(({ slot }) => best.has(slot))
      return linked([...found, ...(await around(followed, scope))])
    },
  }
}

/** The rows for which the words say most together; of equal ones the newest. */
function mostFitting(words: readonly RankedWord[], places: readonly WordPlaces[], total: number): readonly Fit[] {
  const fits = new Map<number, number>()
  for (const [i, { weight, having }] of words.entries()) {
    const worth = weight * rarity(having, total)
    for (const slot of places[i]?.slots ?? []) fits.set(slot, (fits.get(slot) ?? 0) + worth)
  }
  // To put thousands in order takes longer than to find out which of them are worth it.
  const enough = Float64Array.from(fits.values()).toSorted().at(-MOST_CANDIDATES) ?? 0
  return [...fits]
    .filter(([, fit]) => fit >= enough)
    .map(([slot, fit]) => ({ slot, fit }))
    .toSorted(compareFits)
    .slice(0, MOST_CANDIDATES)
}

/** The most fitting first, and of equal ones the newest. */
export function compareFits(a: Fit, b: Fit): number {
  return b.fit - a.fit || b.slot - a.slot
}

/** Each once, in the order of their slots. What lies on another shelf is not beside it. */
function linked(rows: readonly Found[]): readonly Candidate[] {
  const byId = new Map(rows.map(row => [row.id, row]))
  return [...byId.values()]
    .toSorted((a, b) => a.slot - b.slot)
    .map(({ id, slot, shelf, words, createdAt, previousId, conversationId }) => ({
      id,
      slot,
      words,
      createdAt,
      beforeId: previousId,
      previousId: previousId !== null && byId.get(previousId)?.shelf === shelf ? previousId : null,
      conversation: conversationId === null ? null : `${shelf} ${conversationId}`,
    }))
}
