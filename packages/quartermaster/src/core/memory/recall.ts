import {
  MEMORY_PAGE,
  type MemoryPage,
  type MemoryRow,
  type RecalledMemory,
  type RecallWish,
} from '../../contracts/index.ts'
import type { Clock, Digest } from '../kernel/index.ts'
import type { Store } from '../store/index.ts'
import { createCandidates } from './candidates.ts'
import { fromCursor, fromListCursor, markOf, toCursor, toListCursor } from './cursor.ts'
import { memoryFacts } from './memory-row.ts'
import type { MemoryWords } from './memory-words.ts'
import { besideOf, createNeighbours } from './neighbours.ts'
import { fittingOnePage } from './page-size.ts'
import { compareRanked, type RankedMemory, rankMemories } from './ranking.ts'
import { createTotals } from './totals.ts'

export interface RecallDeps {
  readonly store: Store
  readonly clock: Clock
  readonly digest: Digest
  readonly words: MemoryWords
}

/** Where somebody looks. */
export interface RecallScope {
  readonly organisation: string
  readonly shelves: readonly string[]
}

export interface Recall {
  /** Finds memories on these shelves: the most fitting, or the newest when nothing is asked. */
  on(scope: RecallScope, wish: RecallWish): Promise<MemoryPage>
  /** The newest of an organisation, wherever they lie. */
  all(organisation: string, wish: Omit<RecallWish, 'query'>): Promise<MemoryPage>
}

export function createRecall({ store, clock, digest, words }: RecallDeps): Recall {
  const candidatesFor = createCandidates(store, clock)
  const totalOf = createTotals(store, clock)
  const neighbours = createNeighbours(store)

  /** The highest slot that there is. */
  async function highest({ organisation, shelves }: RecallScope): Promise<number> {
    const rows = await Promise.all(
      shelves.map(shelf =>
        store.find('memories', { where: { organisation, shelf }, order: NEWEST_FIRST, limit: 1, columns: ['slot'] }),
      ),
    )
    return Math.max(0, ...rows.flat().map(({ slot }) => slot))
  }

  /** Each shelf has an order of its own, and all of them together have none in the store. */
  async function newest({ organisation, shelves }: RecallScope, { limit, below }: Page): Promise<readonly MemoryRow[]> {
    const pages = await Promise.all(
      shelves.map(shelf =>
        store.find('memories', {
          where: { organisation, shelf, ...(below !== undefined && { slot: { below } }) },
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

  async function list(
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

  async function search(scope: RecallScope, query: string, { limit, mark, cursor }: Ask): Promise<MemoryPage> {
    const asked = words.asked(query)
    const after = cursor === undefined ? undefined : fromCursor(mark, cursor, asked.length)
    const askedAt = after?.askedAt ?? Math.round(clock.now())
    const upTo = after?.upTo ?? (await highest(scope))
    if (asked.length === 0 || upTo === 0) return { memories: [], nextCursor: null }
    const known = after?.known ?? { total: await totalOf({ ...scope, upTo }) }
    const { candidates, facts } = await candidatesFor(asked, known, { ...scope, upTo })
    const { ranked, usual } = rankMemories(candidates, { ...facts, usual: after?.known.usual, now: askedAt })
    const left = after ? ranked.filter(one => compareRanked(one, after) > 0) : ranked
    const page = left.slice(0, limit)
    const shown = await shownOf(scope, page, upTo)
    const memories = fittingOnePage(shown)
    const cut = shown[memories.length]
    const end = cut ? page.findIndex(({ id }) => id === cut.id) : page.length
    const last = end < left.length ? page[end - 1] : undefined
    const then = { total: facts.total, usual, counts: facts.words.map(({ having }) => having) }
    const nextCursor = last ? toCursor(mark, { ...last, upTo, askedAt, known: then }) : null
    return { memories, nextCursor }
  }

  async function shownOf(
    { organisation, shelves }: RecallScope,
    page: readonly RankedMemory[],
    upTo: number,
  ): Promise<RecalledMemory[]> {
    if (page.length === 0) return []
    const found = await store.find('memories', { where: { id: { in: page.map(({ id }) => id) } }, limit: page.length })
    // It may lie elsewhere by now.
    const rows = new Map(found.filter(({ shelf }) => shelves.includes(shelf)).map(row => [row.id, row]))
    const within = { organisation, shelves, upTo }
    const beside = await Promise.all([
      neighbours.before([...rows.values()], within, CONTEXT),
      neighbours.after([...rows.values()], within, CONTEXT),
    ])
    // One that was forgotten in this moment is not there any more.
    return page.flatMap(({ id, score }) => {
      const row = rows.get(id)
      return row ? [{ ...memoryFacts(row), score: round(score), neighbours: besideOf(row, beside.flat()) }] : []
    })
  }

  return {
    on(scope, { query = '', scope: filter = '', limit = MEMORY_PAGE.usual, cursor }) {
      const mark = markOf(digest, [query, filter, scope.organisation, scope.shelves])
      const ask = { limit, mark, cursor }
      return query.trim() === '' ? list(ask, page => newest(scope, page)) : search(scope, query, ask)
    },
    all(organisation, { scope = '', limit = MEMORY_PAGE.usual, cursor }) {
      const mark = markOf(digest, ['all', organisation, scope])
      return list({ limit, mark, cursor }, ({ limit: most, below }) =>
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
  /** Only what has a lower slot. */
  readonly below?: number | undefined
}

interface Ask {
  readonly limit: number
  /** What the question is known by. */
  readonly mark: string
  readonly cursor: string | undefined
}

const NEWEST_FIRST = { by: ['slot'], direction: 'descending' } as const
const CONTEXT = ['id', 'slot', 'shelf', 'previousId', 'content'] as const

const round = (score: number) => Math.round(score * 1_000) / 1_000
