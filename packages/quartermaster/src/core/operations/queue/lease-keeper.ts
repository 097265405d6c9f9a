import { messageOf, type Settings } from '../../../contracts/index.ts'
import type { Cancel, Clock, Log } from '../../kernel/index.ts'
import { update } from '../../store/index.ts'
import type { OperationLog } from '../record/operation-log.ts'
import type { StorageAccess } from '../record/storage.ts'

/** Says again and again that this process still runs what it runs, so that nobody takes it over. */
export interface LeaseKeeper {
  start(): void
  stop(): void
}

export interface LeaseKeeperDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
  readonly owner: string
  readonly operations: Pick<OperationLog, 'recorded'>
  readonly settings: Pick<Settings, 'leaseSeconds'>
}

export function createLeaseKeeper({ storage, clock, log, owner, operations, settings }: LeaseKeeperDeps): LeaseKeeper {
  const leaseMs = settings.leaseSeconds * 1000
  let cancelTimer: Cancel | undefined
  let isStopped = false

  function rest(): void {
    if (isStopped) return
    // Two may fail before anybody thinks that this process is gone.
    cancelTimer = clock.after(leaseMs / 3, () => void renew().finally(rest))
  }

  async function renew(): Promise<void> {
    const storing = storage.current()
    // By what really runs: a lease that was written and whose run never began, because nobody saw the commit, has to run out.
    const ids = operations.recorded()
    if (!storing || ids.length === 0) return
    const set = { leaseUntil: Math.round(clock.now() + leaseMs) }
    try {
      for (const some of chunks(ids)) {
        const where = { id: { in: some }, state: 'leased' as const, leaseOwner: owner }
        await storing.store.commit([update('operations', { where, set, rows: 'any' })])
      }
    } catch (error) {
      log.warn('leases could not be renewed', { error: messageOf(error) })
    }
  }

  return {
    start() {
      if (!cancelTimer) rest()
    },
    stop() {
      isStopped = true
      cancelTimer?.()
    },
  }
}

/** What one statement takes. */
const MOST_IDS = 200

function chunks(ids: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(ids.length / MOST_IDS)
  return Array.from({ length: count }, (_, i) => ids.slice(i * MOST_IDS, (i + 1) * MOST_IDS))
}
