import type { UpstreamRow } from '../../contracts/index.ts'
import type { Clock, Ids } from '../kernel/index.ts'
import { allRows, insert, remove, type Store, update } from '../store/index.ts'

/** Facts about a server that outlive a restart. */
interface UpstreamFacts {
  readonly era: 'legacy' | 'modern' | null
  readonly server: Record<string, unknown> | null
  /** Of the configuration that they were found with; with another one it may be another server. */
  readonly fingerprint: string | null
}

/** The store's facts about servers. */
export interface UpstreamMemory {
  recall(name: string): Promise<UpstreamRow | undefined>
  /** `since` is kept from the first time. */
  remember(name: string, facts: UpstreamFacts, since: number): Promise<void>
  /** Names of all known servers, configured or not. */
  names(): Promise<string[]>
  forget(name: string): Promise<void>
}

interface UpstreamMemoryDeps {
  readonly storage: { open(): Promise<{ readonly store: Store }> }
  readonly clock: Clock
  readonly ids: Ids
}

const PLACE = { organisation: 'default', workspace: 'default' } as const

export function createUpstreamMemory({ storage, clock, ids }: UpstreamMemoryDeps): UpstreamMemory {
  const open = async () => (await storage.open()).store
  const find = async (store: Store, name: string) => {
    const [row] = await store.find('upstreams', { where: { ...PLACE, name }, limit: 1 })
    return row
  }
  return {
    recall: async name => find(await open(), name),
    async remember(name, facts, since) {
      const store = await open()
      const now = Math.round(clock.now())
      const set = { ...facts, lastSeenAt: now }
      const row = { id: ids.next('upstream'), ...PLACE, name, ...set, firstSeenAt: Math.round(since) }
      const known = await find(store, name)
      const added = known ? undefined : await store.commit([insert('upstreams', row, 'upstream.new')])
      // It was known, or another process has just added it; the latest facts win.
      if (!added?.committed) await store.commit([update('upstreams', { where: { ...PLACE, name }, set, rows: 'any' })])
    },
    async names() {
      return (await allRows(await open(), 'upstreams', PLACE, ['name'])).map(({ name }) => name)
    },
    async forget(name) {
      const store = await open()
      await store.commit([remove('upstreams', { where: { ...PLACE, name }, rows: 'any' })])
    },
  }
}
