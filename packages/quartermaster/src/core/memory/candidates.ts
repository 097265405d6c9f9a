import { z } from 'zod'
import { AppError, type MemoryRow } from '../../contracts/index.ts'
import { type Clock, type Digest } from '../kernel/index.ts'
import { type RankedWord, rarity, type WordFacts } from '../search/index.ts'
import { type Store } from '../store/index.ts'
import { createNeighbours, type NeighbourScope, REACH } from './context-boost.ts'
import { type AskedWord, createWordPlaces, type WordPlaces } from './words.ts'
import { type Candidate } from './write.ts'

/** A row that has words of a question, and what these say for it together. */
export interface Fit {
  readonly slot: number
  readonly fit: number
}

/** Finds memories that may answer a question. */
interface Candidates {
  /** The rows that the database finds, the most fitting first, and what is known of the words. */
  fitting(
    asked: readonly AskedWord[],
    known: { readonly total: number; readonly counts?: readonly number[] | undefined },
    scope: NeighbourScope,
  ): Promise<{ readonly fits: readonly Fit[]; readonly facts: WordFacts }>
  /** These rows as far as they still exist, and their neighbours. */
  gather(fits: readonly Fit[], scope: NeighbourScope): Promise<readonly Candidate[]>
}

/** Number of candidates. A memory that the rarest words of the question do not bring among these is no answer. */
const MOST_CANDIDATES = 100
/** The number of candidates whose neighbours are read. */
const MOST_FOLLOWED = 60
const COLUMNS = ['id', 'slot', 'shelf', 'previousId', 'words', 'createdAt', 'conversationId'] as const
type Found = Pick<MemoryRow, (typeof COLUMNS)[number]>

export function createCandidates(store: Store, clock: Clock): Candidates {
  const neighbours = createNeighbours(store)
  const placesOf = createWordPlaces(store.words, clock)

  /** Neighbours in a conversation, which may answer without any word of the question. */
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

/** Each once, in the order of their slots. Only memories of the same scope are linked. */
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

/** Where a page of answers ended, and what the question was then. */
export interface RankedPlace {
  readonly slot: number
  readonly score: number
  /** Memories with a higher slot came later, and are no part of these pages. */
  readonly upTo: number
  readonly askedAt: number
  /** Whether it is among those that come after all that were looked at first. */
  readonly isLater: boolean
  /** The last of those that were looked at first. */
  readonly edge: Fit
  readonly known: KnownThen
}

/**
 * What the first page was ranked by. Counted again after some were forgotten, all others would score higher, and some would be on
 * no page.
 */
interface KnownThen {
  /** How many there were to choose from. */
  readonly total: number
  /** How many words a memory had. */
  readonly usual: number
  /** How many had each word of the question. */
  readonly counts: readonly number[]
}

const Count = z.number().int().nonnegative()
const ListPlace = z.tuple([z.string(), Count])
const Flag = z.union([z.literal(0), z.literal(1)])
const Place = z.tuple(
  [z.string(), Count, z.number(), Count, z.number().int(), Flag, Count, z.number(), Count, z.number()],
  Count,
)

/** What makes two questions the same, in few characters. */
export function markOf(digest: Digest, parts: readonly unknown[]): string {
  return digest(JSON.stringify(parts)).slice(0, 8)
}

/** The slot that a page of a list ended at, as an opaque text. */
export function toListCursor(mark: string, slot: number): string {
  return written([mark, slot])
}

/** The slot that a page of this very list ended at. */
export function fromListCursor(mark: string, cursor: string): number {
  const [known, slot] = parse(ListPlace, cursor)
  if (known !== mark) throw foreign()
  return slot
}

/** The place as an opaque text. */
export function toCursor(mark: string, { slot, score, upTo, askedAt, isLater, edge, known }: RankedPlace): string {
  const looked = [isLater ? 1 : 0, edge.slot, edge.fit]
  return written([mark, slot, score, upTo, askedAt, ...looked, known.total, known.usual, ...known.counts])
}

/** The place in the answers to this very question, which has so many words. */
export function fromCursor(mark: string, cursor: string, words: number): RankedPlace {
  const [known, slot, score, upTo, askedAt, later, edgeSlot, fit, total, usual, ...counts] = parse(Place, cursor)
  if (known !== mark || counts.length !== words) throw foreign()
  const edge = { slot: edgeSlot, fit }
  return { slot, score, upTo, askedAt, isLater: later === 1, edge, known: { total, usual, counts } }
}

/** Only digits, signs and the letters of a digest: their base64 has no characters with a meaning in a URL. */
const written = (place: readonly unknown[]) => btoa(JSON.stringify(place)).replaceAll('=', '')

function parse<P>(shape: z.ZodType<P>, cursor: string): P {
  try {
    return shape.parse(JSON.parse(atob(cursor)))
  } catch {
    throw foreign()
  }
}

function foreign(): AppError {
  return new AppError('CURSOR_GONE', 'This cursor belongs to another question. Ask again without it.')
}
