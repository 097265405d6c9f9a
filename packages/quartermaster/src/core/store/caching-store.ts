import type { Row, Table } from '../../contracts/index.ts'
import { type ChangedRows, newsOf, type StoreNews } from './news.ts'
import type { Query, Store } from './store.ts'

type Workspace = Row<'workspaces'>

export interface CachingStoreDeps {
  readonly store: Store
  /** News of what other processes do; no other process writes to the store when absent. */
  readonly news?: StoreNews | undefined
}

/** Some organisations; of more, the oldest are asked for again. */
const MOST_REMEMBERED = 2_000

/**
 * A store that caches workspaces asked for one by one, by id and by name. Each request looks at the same two or three several
 * times, and asking for them costs more than everything else it does. Rows that this process writes are forgotten before their
 * writer is answered, rows that others write when their news arrives: those rows alone, because heartbeats come all the time.
 * While there is no news, nothing is cached. What a commit depends on is still checked by its guards: a failed guard shows that
 * a cached row is stale.
 */
export function createCachingStore({ store, news }: CachingStoreDeps): Store {
  const known = new Map<string, Workspace | undefined>()
  /** What is read now is valid only if nothing was forgotten meanwhile. */
  let forgotten = 0

  function forget(ids: ChangedRows['ids'] = 'any'): void {
    forgotten++
    if (ids === 'any') return known.clear()
    const changed = new Set(ids)
    for (const [key, row] of known) if (changed.has(row?.id ?? key.slice(BY_ID.length))) known.delete(key)
  }

  const isConnected = () => news?.isConnected() !== false

  function keep(key: string, row: Workspace | undefined): void {
    const [oldest] = known.keys()
    if (known.size >= MOST_REMEMBERED && oldest !== undefined) known.delete(oldest)
    // The row is shared between all readers.
    known.set(key, row && Object.freeze(row))
  }

  async function remembered(key: string, read: () => Promise<Workspace | undefined>): Promise<Workspace | undefined> {
    if (known.has(key) && isConnected()) return known.get(key)
    const before = forgotten
    const row = await read()
    if (before === forgotten && isConnected() && isLasting(key, row)) keep(key, row)
    return row
  }

  news?.listen({
    changed(rows) {
      for (const { table, ids } of rows) if (table === 'workspaces') forget(ids)
    },
    lost: () => forget(),
    back: () => forget(),
  })

  return {
    async commit(writes) {
      const written = newsOf(writes).find(({ table }) => table === 'workspaces')
      try {
        const outcome = await store.commit(writes)
        if (!written && !outcome.committed && outcome.failed.table === 'workspaces') forget()
        return outcome
      } finally {
        // Also when it failed: whether it was written is unknown then.
        if (written) forget(written.ids)
      }
    },
    async get<T extends Table>(table: T, id: string): Promise<Row<T> | undefined> {
      if (table !== 'workspaces') return store.get(table, id)
      return (await remembered(`${BY_ID}${id}`, () => store.get('workspaces', id))) as Row<T> | undefined
    },
    async find<T extends Table, C extends keyof Row<T> = keyof Row<T>>(table: T, query: Query<T, C>) {
      const name = table === 'workspaces' ? namedIn(query as unknown as Query<'workspaces'>) : undefined
      if (name === undefined) return store.find(table, query)
      const row = await remembered(name, async () => (await store.find(table, query))[0] as Workspace | undefined)
      return (row ? [row] : []) as unknown as readonly Pick<Row<T>, C>[]
    },
    count: (table, where) => store.count(table, where),
    words: store.words,
  }
}

const BY_ID = 'id '

/** A free name may be taken by another process, and asked for before that news arrives here. Ids are never chosen. */
function isLasting(key: string, row: Workspace | undefined): boolean {
  return row !== undefined || key.startsWith(BY_ID)
}

/** The one workspace that a query is for by its name, when it is for one. */
function namedIn({ where = {}, order, after, columns, limit }: Query<'workspaces'>): string | undefined {
  const { organisation, workspace, ...more } = where
  const isOne = limit === 1 && !order && !after && !columns && Object.keys(more).length === 0
  return isOne && typeof organisation === 'string' && typeof workspace === 'string'
    ? `name ${organisation}\n${workspace}`
    : undefined
}
