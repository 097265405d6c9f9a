import type { OutgoingTaskRow } from '../../contracts/index.ts'
import type { Clock } from '../kernel/index.ts'
import { remove, type Store, update, type Write } from '../store/index.ts'

/** What is on its way to agents elsewhere. One process looks after each, for as long as it says so. */
export interface Outbox {
  /** Those that are due and that nobody looks after, the one that waits longest first. */
  due(): Promise<readonly OutgoingTaskRow[]>
  /** This process looks after it from now on; nothing when another one does. */
  claim(row: OutgoingTaskRow): Promise<OutgoingTaskRow | undefined>
  /** Changes it, and says that it is still looked after; nothing when that is another one's by now. */
  save(row: OutgoingTaskRow, set?: Change): Promise<OutgoingTaskRow | undefined>
  /** Whoever is next may have it. */
  release(row: OutgoingTaskRow): Promise<void>
  /** It is over. */
  drop(row: OutgoingTaskRow, more?: readonly Write[]): Promise<void>
}

export type Change = Partial<Pick<OutgoingTaskRow, 'remoteId' | 'contextId' | 'attempts' | 'trouble'>>

export interface OutboxDeps {
  readonly store: Store
  readonly clock: Clock
  /** What leases are held under. */
  readonly self: string
  readonly leaseMs: number
  /** Whether no other process works on the store: then whoever held a lease is gone. */
  isAlone(): boolean
}

const PAGE = 200

export function createOutbox({ store, clock, self, leaseMs, isAlone }: OutboxDeps): Outbox {
  const now = () => Math.round(clock.now())

  function isFree({ leaseOwner, leaseUntil }: OutgoingTaskRow): boolean {
    return leaseOwner === null || leaseOwner === self || isAlone() || (leaseUntil ?? 0) <= now()
  }

  async function write(row: OutgoingTaskRow, set: Partial<OutgoingTaskRow>): Promise<OutgoingTaskRow | undefined> {
    const { id, version } = row
    const changed = { ...set, version: version + 1 }
    const { committed } = await store.commit([
      update('outgoingtasks', { where: { id, version }, set: changed, guard: 'outgoing.version' }),
    ])
    return committed ? { ...row, ...changed } : undefined
  }

  const lease = () => ({ leaseOwner: self, leaseUntil: now() + leaseMs })

  return {
    async due() {
      const found: OutgoingTaskRow[] = []
      for (let after: readonly (string | number)[] | undefined; ; ) {
        const query = { where: { nextAt: { atMost: now() } }, order: { by: ['nextAt', 'id'] as const }, limit: PAGE }
        const rows = await store.find('outgoingtasks', { ...query, ...(after && { after }) })
        found.push(...rows.filter(isFree))
        const last = rows.at(-1)
        if (!last || rows.length < PAGE) return found
        after = [last.nextAt, last.id]
      }
    },
    claim: async row => (isFree(row) ? write(row, lease()) : undefined),
    save: (row, set = {}) => write(row, { ...set, ...lease() }),
    async release(row) {
      await write(row, { leaseOwner: null, leaseUntil: null })
    },
    async drop({ id, version }, more = []) {
      const gone = remove('outgoingtasks', { where: { id, version }, guard: 'outgoing.version' })
      const { committed } = await store.commit([gone, ...more])
      // Whoever has it by now finds for itself that it is over.
      if (!committed && more.length > 0) await store.commit(more)
    },
  }
}
