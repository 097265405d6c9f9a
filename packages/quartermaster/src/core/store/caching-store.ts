import type { Row, Table } from '../../contracts/index.ts'
import { type ChangedRows, newsOf, type StoreNews } from './news.ts'
import type { Query, Store } from './store.ts'

type Workspace = Row<'workspaces'>

export interface CachingStoreDeps {
  readonly store: Store
  /** Changes by other processes; absent when no other process writes to the store. */
  readonly news?: StoreNews | undefined
}

/** Enough for some organisations; beyond that the oldest entries go. */
const MOST_CACHED = 2_000

/**
 * A store that caches workspaces read one by one, by id and by name: each request reads the same two or three several times, and
 * that would cost more than everything else it does. Rows that this process writes leave the cache before their writer is
 * answered, rows that others write when their news arrives: only those rows, because heartbeats come all the time. Without news
 * nothing is cached. The guards of a commit still check what it depends on, so a failed guard reveals a stale row.
 */
export function createCachingStore({ store, news }: CachingStoreDeps): Store {
  const cached = new Map<string, Workspace | undefined>()
  /** A row read now may be cached only if nothing was invalidated meanwhile. */
  let invalidations = 0

  function invalidate(ids: ChangedRows['ids'] = 'any'): void {
    invalidations++
    if (ids === 'any') return cached.clear()
    const changed = new Set(ids)
    for (const [key, row] of cached) if (changed.has(row?.id ?? key.slice(BY_ID.length))) cached.delete(key)
  }

  const isConnected = () => news?.isConnected() !== false

  function keep(key: string, row: Workspace | undefined): void {
    const [oldest] = cached.keys()
    if (cached.size >= MOST_CACHED && oldest !== undefined) cached.delete(oldest)
    // All readers share the row.
    cached.set(key, row && Object.freeze(row))
  }

  async function readThrough(key: string, read: () => Promise<Workspace | undefined>): Promise<Workspace | undefined> {
    if (cached.has(key) && isConnected()) return cached.get(key)
    const before = invalidations
    const row = await read()
    if (before === invalidations && isConnected() && mayCache(key, row)) keep(key, row)
    return row
  }

  news?.listen({
    changed(rows) {
      for (const { table, ids } of rows) if (table === 'workspaces') invalidate(ids)
    },
    lost: () => invalidate(),
    back: () => invalidate(),
  })

  return {
    async commit(writes) {
      const written = newsOf(writes).find(({ table }) => table === 'workspaces')
      try {
        const outcome = await store.commit(writes)
        if (!written && !outcome.committed && outcome.failed.table === 'workspaces') invalidate()
        return outcome
      } finally {
        // Also after an error, when the outcome is unknown.
        if (written) invalidate(written.ids)
      }
    },
    async get<T extends Table>(table: T, id: string): Promise<Row<T> | undefined> {
      if (table !== 'workspaces') return store.get(table, id)
      return (await readThrough(`${BY_ID}${id}`, () => store.get('workspaces', id))) as Row<T> | undefined
    },
    async find<T extends Table, C extends keyof Row<T> = keyof Row<T>>(table: T, query: Query<T, C>) {
      const key = table === 'workspaces' ? nameKey(query as unknown as Query<'workspaces'>) : undefined
      if (key === undefined) return store.find(table, query)
      const row = await readThrough(key, async () => (await store.find(table, query))[0] as Workspace | undefined)
      return (row ? [row] : []) as unknown as readonly Pick<Row<T>, C>[]
    },
    count: (table, where) => store.count(table, where),
    words: store.words,
  }
}

const BY_ID = 'id '

/** Another process may take a free name before that news arrives here; ids are never chosen. */
function mayCache(key: string, row: Workspace | undefined): boolean {
  return row !== undefined || key.startsWith(BY_ID)
}

/** The cache key of a query for one workspace by its name; nothing for any other query. */
function nameKey({ where = {}, order, after, columns, limit }: Query<'workspaces'>): string | undefined {
  const { organisation, workspace, ...more } = where
  const isOne = limit === 1 && !order && !after && !columns && Object.keys(more).length === 0
  return isOne && typeof organisation === 'string' && typeof workspace === 'string'
    ? `name ${organisation}\n${workspace}`
    : undefined
}
