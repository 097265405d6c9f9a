import { z } from 'zod'
import { AppError, type MemoryRow } from '../../contracts/index.ts'
import { type Clock, type Digest } from '../kernel/index.ts'
import { type RankedWord, rarity, type WordFacts } from '../search/index.ts'
import { type Store } from '../store/index.ts'
import { createNeighbours, type NeighbourScope, REACH } from './context-boost.ts'
import { createWordPlaces, type QueryWord, type WordPlaces } from './words.ts'
import { type Candidate } from './write.ts'

/** A row with words of the query, and the sum of their weights. */
export interface Fit {
  readonly slot: number
  readonly fit: number
}

/** Finds memories that may fit a query. */
interface Candidates {
  /** The rows with words of the query, best first, and how rare the words are. */
  fitting(
    asked: readonly QueryWord[],
    known: { readonly total: number; readonly counts?: readonly number[] | undefined },
    scope: NeighbourScope,
  ): Promise<{ readonly fits: readonly Fit[]; readonly facts: WordFacts }>
  /** Reads the rows that still exist, and their neighbours. */
  gather(fits: readonly Fit[], scope: NeighbourScope): Promise<readonly Candidate[]>
}

/** Number of candidates. The rarest words of the query decide which. */
const MOST_CANDIDATES = 100
/** The number of candidates whose neighbours are read. */
const MOST_FOLLOWED = 60
const COLUMNS = ['id', 'slot', 'shelf', 'previousId', 'words', 'createdAt', 'conversationId'] as const
type Found = Pick<MemoryRow, (typeof COLUMNS)[number]>

export function createCandidates(store: Store, clock: Clock): Candidates {
  const neighbours = createNeighbours(store)
  const placesOf = createWordPlaces(store.words, clock)

  /** Neighbours in a conversation, which may fit without any word of the query. */
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
    async fitting(asked, { total, counts }, { scopes, upTo }) {
      const sought = asked.map(({ word }) => word)
      const places = await placesOf(sought, { scopes, upTo }, counts)
      const words = asked.map((one, i): RankedWord => ({ ...one, having: places[i]?.having ?? 0 }))
      return { fits: mostFitting(words, places, total), facts: { words, total } }
    },
    async gather(fits, scope) {
      if (fits.length === 0) return []
      const slots = fits.map(({ slot }) => slot)
      const query = { where: { slot: { in: slots } }, limit: slots.length, columns: COLUMNS }
      // A memory that changed meanwhile may have moved to another scope.
      const found = (await store.find('memories', query)).filter(row => scope.scopes.includes(row.shelf))
      const best = new Set(slots.slice(0, MOST_FOLLOWED))
      const followed = found.filter(({ slot }) => best.has(slot))
      return linked([...found, ...(await around(followed, scope))])
    },
  }
}

/** The rows with the highest sums; of equal ones the newest. */
function mostFitting(words: readonly RankedWord[], places: readonly WordPlaces[], total: number): readonly Fit[] {
  const fits = new Map<number, number>()
  for (const [i, { weight, having }] of words.entries()) {
    const worth = weight * rarity(having, total)
    for (const slot of places[i]?.slots ?? []) fits.set(slot, (fits.get(slot) ?? 0) + worth)
  }
  // Sorting thousands takes longer than finding the lowest sum that is enough.
  const enough = Float64Array.from(fits.values()).toSorted().at(-MOST_CANDIDATES) ?? 0
  return [...fits]
    .filter(([, fit]) => fit >= enough)
    .map(([slot, fit]) => ({ slot, fit }))
    .toSorted(compareFits)
    .slice(0, MOST_CANDIDATES)
}

/** Best first, and of equal ones the newest. */
export function compareFits(a: Fit, b: Fit): number {
  return b.fit - a.fit || b.slot - a.slot
}

/** Each row once, in order of slot. Only memories of the same scope are linked. */
function linked(rows: readonly Found[]): readonly Candidate[] {
  const byId = new Map(rows.map(row => [row.id, row]))
  return [...byId.values()]
    .toSorted((a, b) => a.slot - b.slot)
    .map(row => ({
      id: row.id,
      slot: row.slot,
      words: row.words,
      createdAt: row.createdAt,
      beforeId: row.previousId,
      previousId: row.previousId !== null && byId.get(row.previousId)?.shelf === row.shelf ? row.previousId : null,
      conversation: row.conversationId === null ? null : `${row.shelf} ${row.conversationId}`,
    }))
}

/** The end of a page of answers, and what the first page was ranked by. */
export interface RankedPlace {
  readonly slot: number
  readonly score: number
  /** Memories with a higher slot are newer than the first page, and on none of its pages. */
  readonly upTo: number
  readonly askedAt: number
  /** Whether it is behind all that were scored for the first page. */
  readonly isLater: boolean
  /** The last one that was scored for the first page. */
  readonly edge: Fit
  readonly known: RankingCounts
}

/** Counts for the ranking of all pages. Counted again after some were forgotten, others would score higher and be on no page. */
interface RankingCounts {
  readonly total: number
  /** The average number of words of a memory. */
  readonly usual: number
  /** How many memories have each word of the query. */
  readonly counts: readonly number[]
}

const Count = z.number().int().nonnegative()
const ListPlace = z.tuple([z.string(), Count])
const Flag = z.union([z.literal(0), z.literal(1)])
const Place = z.tuple(
  [z.string(), Count, z.number(), Count, z.number().int(), Flag, Count, z.number(), Count, z.number()],
  Count,
)

/** A short digest that is the same for the same query. */
export function markOf(digest: Digest, parts: readonly unknown[]): string {
  return digest(JSON.stringify(parts)).slice(0, 8)
}

export function toListCursor(mark: string, slot: number): string {
  return encode([mark, slot])
}

/** The slot in a cursor of this list. */
export function fromListCursor(mark: string, cursor: string): number {
  const [known, slot] = parse(ListPlace, cursor)
  if (known !== mark) throw foreignCursor()
  return slot
}

export function toCursor(mark: string, { slot, score, upTo, askedAt, isLater, edge, known }: RankedPlace): string {
  const looked = [isLater ? 1 : 0, edge.slot, edge.fit]
  return encode([mark, slot, score, upTo, askedAt, ...looked, known.total, known.usual, ...known.counts])
}

/** The place in a cursor of this query, which has so many words. */
export function fromCursor(mark: string, cursor: string, words: number): RankedPlace {
  const [known, slot, score, upTo, askedAt, later, edgeSlot, fit, total, usual, ...counts] = parse(Place, cursor)
  if (known !== mark || counts.length !== words) throw foreignCursor()
  const edge = { slot: edgeSlot, fit }
  return { slot, score, upTo, askedAt, isLater: later === 1, edge, known: { total, usual, counts } }
}

/** Base64 without characters that have a meaning in a URL, as there are only digits, signs and letters of a digest. */
const encode = (place: readonly unknown[]) => btoa(JSON.stringify(place)).replaceAll('=', '')

function parse<P>(shape: z.ZodType<P>, cursor: string): P {
  try {
    return shape.parse(JSON.parse(atob(cursor)))
  } catch {
    throw foreignCursor()
  }
}

function foreignCursor(): AppError {
  return new AppError('CURSOR_GONE', 'This cursor belongs to another question. Ask again without it.')
}
