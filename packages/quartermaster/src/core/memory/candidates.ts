import type { MemoryRow } from '../../contracts/index.ts'
import type { Clock } from '../kernel/index.ts'
import type { Store, WantedWord } from '../store/index.ts'
import type { Candidate } from './candidate.ts'
import { REACH } from './hearing.ts'
import type { AskedWord } from './memory-words.ts'
import { createNeighbours, type NeighbourScope } from './neighbours.ts'
import { type RankedWord, rarity, type WordFacts } from './voices.ts'
import { createWordCounts } from './word-counts.ts'

/** Memories that may answer a question, and what is known of its words. */
export interface Candidates {
  readonly candidates: readonly Candidate[]
  readonly facts: WordFacts
}

/** Those that the database finds, and what stands beside them. */
export type CandidateFinder = (
  asked: readonly AskedWord[],
  known: { readonly total: number; readonly counts?: readonly number[] | undefined },
  scope: NeighbourScope,
) => Promise<Candidates>

/** From how many the best are chosen. What the question's rarest words do not bring among these is no answer to it. */
const MOST_CANDIDATES = 100
/** Around how many of them it is looked for what was said before and after. */
const MOST_FOLLOWED = 60
/** Rows that a question makes the database look at, all words together: the rare ones whole, then the newest of the others. */
export const MOST_LOOKS = 6_000

const COLUMNS = ['id', 'slot', 'shelf', 'previousId', 'words', 'createdAt', 'conversationId'] as const
type Found = Pick<MemoryRow, (typeof COLUMNS)[number]>

export function createCandidates(store: Store, clock: Clock): CandidateFinder {
  const neighbours = createNeighbours(store)
  const countOf = createWordCounts(store.words, clock)

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

  function countsOf(asked: readonly AskedWord[], { shelves, upTo }: NeighbourScope): Promise<readonly number[]> {
    return Promise.all(asked.map(({ word }) => countOf(word, { shelves, upTo })))
  }

  return async (asked, { total, counts: known }, scope) => {
    const { shelves, upTo } = scope
    const counts = known ?? (await countsOf(asked, scope))
    const words = asked.map((one, i): RankedWord => ({ ...one, having: counts[i] ?? 0 }))
    const slots = await store.words.find(wantedWords(words, total), { shelves, upTo, limit: MOST_CANDIDATES })
    const facts = { words, total }
    if (slots.length === 0) return { candidates: [], facts }
    const query = { where: { slot: { in: slots } }, limit: MOST_CANDIDATES, columns: COLUMNS }
    // One that was changed meanwhile may lie elsewhere by now.
    const found = (await store.find('memories', query)).filter(({ shelf }) => shelves.includes(shelf))
    const best = new Set(slots.slice(0, MOST_FOLLOWED))
    const beside = await around(
      found.filter(({ slot }) => best.has(slot)),
      scope,
    )
    return { candidates: linked([...found, ...beside]), facts }
  }
}

/** The rarest first, each with as many rows as are left to be looked at. */
function wantedWords(words: readonly RankedWord[], total: number): readonly WantedWord[] {
  let left = MOST_LOOKS
  const wanted: WantedWord[] = []
  for (const { word, weight, having } of words.toSorted((a, b) => a.having - b.having)) {
    const most = Math.min(having, left)
    if (most === 0) continue
    left -= most
    wanted.push({ word, weight: weight * rarity(having, total), most })
  }
  return wanted
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
      previousId: previousId !== null && byId.get(previousId)?.shelf === shelf ? previousId : null,
      conversation: conversationId === null ? null : `${shelf} ${conversationId}`,
    }))
}
