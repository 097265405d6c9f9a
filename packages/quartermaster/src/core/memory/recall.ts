import {
  MEMORY_PAGE,
  type MemoryPage,
  type MemoryRow,
  type RecalledMemory,
  type RecallWish,
} from '../../contracts/index.ts'
import { type Clock, type Digest } from '../kernel/index.ts'
import { maxScores, scoreTerms, type TermScores, type WordFacts } from '../search/index.ts'
import { type Store } from '../store/index.ts'
import {
  compareFits,
  createCandidates,
  type Fit,
  fromCursor,
  fromListCursor,
  markOf,
  type RankedPlace,
  toCursor,
  toListCursor,
} from './candidates.ts'
import { createContextBoost, createNeighbours, type NeighbourScope, neighboursOf } from './context-boost.ts'
import { type MemoryWords } from './words.ts'
import { type Candidate, fittingOnePage, memoryFacts } from './write.ts'

interface RecallDeps {
  readonly store: Store
  readonly clock: Clock
  readonly digest: Digest
  readonly words: MemoryWords
}

interface RecallScope {
  readonly organisation: string
  readonly scopes: readonly string[]
}

interface Recall {
  /** Finds memories of these scopes: the best matches, or the newest without a query. */
  search(scope: RecallScope, wish: RecallWish): Promise<MemoryPage>
  /** Lists the newest of an organisation, in any scope. */
  list(organisation: string, wish: Omit<RecallWish, 'query'>): Promise<MemoryPage>
}

export function createRecall({ store, clock, digest, words }: RecallDeps): Recall {
  const candidates = createCandidates(store, clock)
  const totalOf = createTotals(store, clock)
  const neighbours = createNeighbours(store)

  /** The highest slot, and the scopes that have memories: searching an empty one costs a query for each word. */
  async function nonEmptyScopes({ organisation, scopes }: RecallScope): Promise<NeighbourScope> {
    const rows = await Promise.all(
      scopes.map(scopeKey =>
        store.find('memories', {
          where: { organisation, shelf: scopeKey },
          order: NEWEST_FIRST,
          limit: 1,
          columns: ['slot'],
        }),
      ),
    )
    const upTo = Math.max(0, ...rows.flat().map(({ slot }) => slot))
    return { organisation, upTo, scopes: scopes.filter((_, i) => rows[i]?.length) }
  }

  /** Merged here: the store only orders within one scope. */
  async function newest({ organisation, scopes }: RecallScope, { limit, below }: Page): Promise<readonly MemoryRow[]> {
    const pages = await Promise.all(
      scopes.map(scopeKey =>
        store.find('memories', {
          where: { organisation, shelf: scopeKey, ...(below !== undefined && { slot: { below } }) },
          order: NEWEST_FIRST,
          limit,
        }),
      ),
    )
    return pages
      .flat()
      .toSorted((a, b) => b.slot - a.slot)
      .slice(0, limit)
  }

  async function listPage(
    { limit, mark, cursor }: Ask,
    find: (page: Page) => Promise<readonly MemoryRow[]>,
  ): Promise<MemoryPage> {
    const below = cursor === undefined ? undefined : fromListCursor(mark, cursor)
    const rows = await find({ limit: limit + 1, below })
    const shown = fittingOnePage(rows.slice(0, limit))
    const last = rows.length > shown.length ? shown.at(-1) : undefined
    return {
      memories: shown.map(row => ({ ...memoryFacts(row), score: null, neighbours: [] })),
      nextCursor: last ? toListCursor(mark, last.slot) : null,
    }
  }

  async function searchPage(scope: RecallScope, query: string, { limit, mark, cursor }: Ask): Promise<MemoryPage> {
    const asked = words.ofQuery(query)
    const after = cursor === undefined ? undefined : fromCursor(mark, cursor, asked.length)
    const askedAt = after?.askedAt ?? Math.round(clock.now())
    const within = after ? { ...scope, upTo: after.upTo } : await nonEmptyScopes(scope)
    const { upTo } = within
    if (asked.length === 0 || upTo === 0) return { memories: [], nextCursor: null }
    const known = after?.known ?? { total: await totalOf(within) }
    const { fits, facts } = await candidates.fitting(asked, known, within)
    const edge = after?.edge ?? fits[Math.min(fits.length, scoredFirst(limit)) - 1] ?? NO_FIT
    const { left, usual } = await answersOf(fits, within, { ...facts, now: askedAt, edge, after, limit })
    const page = left.slice(0, limit)
    const shown = await shownOf(within, page)
    const memories = fittingOnePage(shown)
    const cut = shown[memories.length]
    const end = cut ? page.findIndex(({ id }) => id === cut.id) : page.length
    const last = end < left.length ? page[end - 1] : undefined
    const then = { total: facts.total, usual, counts: facts.words.map(({ having }) => having) }
    const nextCursor = last ? toCursor(mark, { ...last, upTo, askedAt, edge, known: then }) : null
    return { memories, nextCursor }
  }

  /** The remaining answers. Most callers read one page, so the less fitting half is only scored for the next one. */
  async function answersOf(fits: readonly Fit[], within: NeighbourScope, { edge, after, limit, ...facts }: Answering) {
    const isFirst = (fit: Fit) => compareFits(fit, edge) <= 0
    const first = rankMemories(await candidates.gather(fits.filter(isFirst), within), {
      ...facts,
      usual: after?.known.usual,
    })
    const { usual } = first
    const left = afterPage(first.ranked, { isLater: false, after })
    const others = fits.filter(fit => !isFirst(fit))
    if (left.length > limit || others.length === 0) return { left, usual }
    const shown = new Set(first.ranked.map(({ id }) => id))
    const later = rankMemories(await candidates.gather(others, within), { ...facts, usual })
    const ranked = later.ranked.filter(({ id }) => !shown.has(id))
    return { left: [...left, ...afterPage(ranked, { isLater: true, after })], usual }
  }

  async function shownOf(within: NeighbourScope, page: readonly RankedMemory[]): Promise<RecalledMemory[]> {
    if (page.length === 0) return []
    const where = { id: { in: page.map(({ id }) => id) } }
    const [found, ...beside] = await Promise.all([
      store.find('memories', { where, limit: page.length, columns: SHOWN }),
      neighbours.before(
        page.map(({ beforeId }) => ({ previousId: beforeId })),
        within,
        CONTEXT,
      ),
      neighbours.after(page, within, CONTEXT),
    ])
    // A memory may have moved to another scope by now.
    const rows = new Map(found.filter(row => within.scopes.includes(row.shelf)).map(row => [row.id, row]))
    // Or it was just forgotten.
    return page.flatMap(({ id, score }) => {
      const row = rows.get(id)
      return row ? [{ ...memoryFacts(row), score: round(score), neighbours: neighboursOf(row, beside.flat()) }] : []
    })
  }

  return {
    search(scope, { query = '', scope: filter = '', limit = MEMORY_PAGE.usual, cursor }) {
      const mark = markOf(digest, [query, filter, scope.organisation, scope.scopes])
      const ask = { limit, mark, cursor }
      return query.trim() === '' ? listPage(ask, page => newest(scope, page)) : searchPage(scope, query, ask)
    },
    list(organisation, { scope = '', limit = MEMORY_PAGE.usual, cursor }) {
      const mark = markOf(digest, ['all', organisation, scope])
      return listPage({ limit, mark, cursor }, ({ limit: most, below }) =>
        store.find('memories', {
          where: { organisation, ...(scope !== '' && { scope }), ...(below !== undefined && { slot: { below } }) },
          order: NEWEST_FIRST,
          limit: most,
        }),
      )
    },
  }
}

interface Page {
  readonly limit: number
  /** Only lower slots. */
  readonly below?: number | undefined
}

interface Ask {
  readonly limit: number
  /** The digest of the query. */
  readonly mark: string
  readonly cursor: string | undefined
}

interface Answering extends RankingFacts {
  readonly limit: number
  readonly after: RankedPlace | undefined
  /** The last candidate that is scored first. */
  readonly edge: Fit
}

interface Answered extends RankedMemory {
  readonly isLater: boolean
}

/** The memories after the end of the page before. */
function afterPage(
  ranked: readonly RankedMemory[],
  { isLater, after }: { readonly isLater: boolean; readonly after: RankedPlace | undefined },
): readonly Answered[] {
  const all = ranked.map(one => ({ ...one, isLater }))
  if (!after || (isLater && !after.isLater)) return all
  return after.isLater === isLater ? all.filter(one => compareRanked(one, after) > 0) : []
}

/** Number of candidates scored for a page. With 40 the samples have the same first ten as with 100, with 32 they do not. */
function scoredFirst(limit: number): number {
  return Math.max(40, 4 * limit)
}

const NO_FIT = { slot: 0, fit: 0 }

const NEWEST_FIRST = { by: ['slot'], direction: 'descending' } as const
const SHOWN = [
  ...(['id', 'slot', 'shelf', 'previousId', 'scope', 'content', 'version', 'workspaceId', 'workspace'] as const),
  ...(['operationId', 'conversationId', 'createdAt', 'updatedAt', 'updatedBy'] as const),
] as const
const CONTEXT = ['id', 'slot', 'shelf', 'previousId', 'content'] as const

const round = (score: number) => Math.round(score * 1_000) / 1_000

interface RankingFacts extends WordFacts {
  /** When the first page was asked for. */
  readonly now: number
}

interface RankedMemory {
  readonly id: string
  readonly slot: number
  readonly score: number
  readonly beforeId: string | null
}

/** Share of the score of its whole conversation that a memory gets. */
const CONVERSATION_SHARE = 0.1
/** How much more a new memory counts than a very old one, and the half-life of that. */
const RECENCY_SHARE = 0.1
const HALF_LIFE_MS = 30 * 86_400_000

interface Ranking {
  /** The memories with a match, best first, and of equal ones the newest. */
  readonly ranked: readonly RankedMemory[]
  /** The average number of words of a memory that was used. */
  readonly usual: number
}

function rankMemories(candidates: readonly Candidate[], facts: RankingFacts): Ranking {
  const { own, usual } = scoreTerms(candidates, facts)
  const boost = createContextBoost(candidates, own)
  const conversations = conversationFits(candidates, own)
  const ranked: RankedMemory[] = []
  for (const candidate of candidates) {
    const { id, slot, createdAt, conversation, beforeId } = candidate
    const fit = sum(boost(candidate))
    if (fit === 0 || (conversation === null && sum(own.get(id) ?? []) === 0)) continue
    const lift = conversation === null ? 0 : CONVERSATION_SHARE * (conversations.get(conversation) ?? 0)
    ranked.push({ id, slot, beforeId, score: (fit + lift) * recency(facts.now - createdAt) })
  }
  return { ranked: ranked.toSorted(compareRanked), usual }
}

type RankedSpot = Pick<RankedMemory, 'slot' | 'score'>

function compareRanked(a: RankedSpot, b: RankedSpot): number {
  return b.score - a.score || b.slot - a.slot
}

/** The fit of each whole conversation. */
function conversationFits(candidates: readonly Candidate[], own: ReadonlyMap<string, TermScores>) {
  const best = new Map<string, TermScores>()
  for (const { id, conversation } of candidates) {
    const scores = own.get(id) ?? []
    if (conversation !== null) best.set(conversation, maxScores(scores, best.get(conversation) ?? []))
  }
  return new Map([...best].map(([conversation, scores]) => [conversation, sum(scores)]))
}

const sum = (scores: TermScores) => scores.reduce((all, score) => all + score, 0)

function recency(age: number): number {
  return 1 + RECENCY_SHARE * 2 ** (-Math.max(0, age) / HALF_LIFE_MS)
}

/** The number of memories in a scope. Approximate: it only decides how rare a word is. */
type Totals = (scope: NeighbourScope) => Promise<number>

/** Memories that were forgotten since still count until then. */
const GOOD_FOR_MS = 10 * 60_000
const MOST_CACHED = 1_000

/** Counting 100,000 rows takes a quarter of a recall, so only rows added since the last count are counted. */
function createTotals(store: Store, clock: Clock): Totals {
  const known = new Map<string, { readonly upTo: number; readonly total: number; readonly countedAt: number }>()

  async function between(above: number, { organisation, scopes, upTo }: NeighbourScope): Promise<number> {
    const where = { organisation, shelf: { in: scopes } }
    if (above === 0) return store.count('memories', { ...where, slot: { atMost: upTo } })
    const [since, later] = await Promise.all(
      [above, upTo].map(slot => store.count('memories', { ...where, slot: { above: slot } })),
    )
    return (since ?? 0) - (later ?? 0)
  }

  return async scope => {
    const place = JSON.stringify([scope.organisation, scope.scopes])
    const last = known.get(place)
    const isGood = last !== undefined && last.upTo <= scope.upTo && clock.now() - last.countedAt < GOOD_FOR_MS
    const base = isGood ? last : { upTo: 0, total: 0, countedAt: clock.now() }
    const total = base.total + (base.upTo === scope.upTo ? 0 : await between(base.upTo, scope))
    if (known.size >= MOST_CACHED && !known.has(place)) known.clear()
    known.set(place, { ...base, upTo: scope.upTo, total })
    return total
  }
}
