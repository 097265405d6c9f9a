import { createSealer } from '../adapters/sealing/index.ts'
import { silentLog } from '../adapters/system/index.ts'
import type { Clock } from '../core/kernel/index.ts'
import { createNodes, type NewsListener, type Nodes, newsOf, type Store, type StoreNews } from '../core/store/index.ts'
import { type FaultyStorage, faultyStorage } from './faulty-storage.ts'

/** One of several processes on one store. */
export interface SharedStorage extends FaultyStorage {
  /** What its leases are held under. */
  readonly owner: string
  readonly nodes: Nodes
  readonly news: StoreNews
  /** It hears nothing more of what the others do. */
  cutOff(): void
  /** The connection is back, and no listener has been notified yet. */
  connect(): void
  /** It hears again. */
  fix(): void
}

/** A store in memory that several processes share, each with news of what the others commit. */
export async function sharedStorages(
  owners: readonly string[],
  { clock, leaseMs = 30_000 }: { readonly clock: Clock; readonly leaseMs?: number },
): Promise<readonly SharedStorage[]> {
  const base = faultyStorage()
  const lines = owners.map(() => createLine())
  const storages = owners.map((owner, i) => {
    const line = lines[i] ?? createLine()
    const store: Store = {
      ...base.store,
      async commit(writes) {
        const outcome = await base.store.commit(writes)
        const rows = newsOf(writes)
        if (outcome.committed && rows.length > 0)
          for (const other of lines) if (other !== line) queueMicrotask(() => other.tell(one => one.changed(rows)))
        return outcome
      },
    }
    const { news, cutOff, connect, fix } = line
    const self = { id: owner, host: 'here', folder: owner, version: '0.0.0' }
    const nodes = createNodes({ store, clock, log: silentLog, self, leaseMs, news })
    const storage = { store, sealer: createSealer({ key: new Uint8Array(32) }), shared: { news, nodes } }
    const access = { open: async () => storage, current: () => storage }
    return { ...access, store, fault: () => undefined, owner, nodes, news, cutOff, connect, fix }
  })
  for (const { nodes } of storages) await nodes.join()
  for (const { nodes } of storages) await nodes.look()
  return storages
}

function createLine() {
  const listeners = new Set<NewsListener>()
  let isHeard = true
  const each = (work: (listener: NewsListener) => void) => {
    for (const listener of listeners) work(listener)
  }
  const news: StoreNews = {
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    isConnected: () => isHeard,
  }
  return {
    news,
    tell: (work: (listener: NewsListener) => void) => isHeard && each(work),
    cutOff() {
      isHeard = false
      each(listener => listener.lost?.())
    },
    connect() {
      isHeard = true
    },
    fix() {
      isHeard = true
      each(listener => listener.back())
    },
  }
}
