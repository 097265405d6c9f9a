import { type OutgoingTaskRow } from '../../contracts/index.ts'
import { type Cancel, type Cancellation, type CancelSignal, type Clock, createCancellation } from '../kernel/index.ts'
import { pagesOf, remove, type Store, update, type Write } from '../store/index.ts'

/** A task leased by this process. */
export interface HeldTask {
  readonly row: OutgoingTaskRow
  /** Changes the stored row. Throws `LeaseLost` if another process has the lease by now. */
  save(set: Change): Promise<void>
  /** Aborts when the lease must be released. */
  readonly gone: CancelSignal
  /** Aborts when a local event concerns the task, or the lease must be released. New for each step. */
  wakeSignal(): CancelSignal
  wake(): void
  /** Waits, but not beyond the next such event. */
  rest(ms: number): Promise<void>
  /** Stops renewing the lease. */
  end(): void
  release(): void
}

/** Another process has the lease. */
export class LeaseLost extends Error {}

/** Keeps and renews the lease of a claimed task. */
export function holdTask(
  claimed: OutgoingTaskRow,
  { outbox, clock, leaseMs }: { readonly outbox: Outbox; readonly clock: Clock; readonly leaseMs: number },
): HeldTask {
  let row = claimed
  let isWoken = false
  let isEnded = false
  let wakeup: Cancellation = createCancellation()
  let cancelRenewal: Cancel = () => {}
  const going = createCancellation()
  going.signal.addEventListener('abort', () => wakeup.cancel('gone'))
  // Serialized: each change guards on the version of the previous one.
  let saving: Promise<void> = Promise.resolve()

  function save(set: Change): Promise<void> {
    const turn = saving.then(async () => {
      const saved = await outbox.save(row, set)
      if (!saved) throw new LeaseLost('Another process has the lease.')
      row = saved
    })
    saving = turn.catch(() => {
      // The caller of `save` gets the error.
    })
    return turn
  }

  function renewLater(): void {
    if (isEnded) return
    cancelRenewal = clock.after(leaseMs / 3, () => {
      save({}).then(renewLater, error => going.cancel(error))
    })
  }
  renewLater()

  return {
    get row() {
      return row
    },
    save,
    gone: going.signal,
    wakeSignal() {
      wakeup = createCancellation()
      // Events since the previous step are not missed.
      if (isWoken || going.signal.aborted) wakeup.cancel('stirred')
      isWoken = false
      return wakeup.signal
    },
    wake() {
      isWoken = true
      wakeup.cancel('stirred')
    },
    rest: ms =>
      new Promise(resolve => {
        if (isWoken || going.signal.aborted) return resolve()
        const cancel = clock.after(ms, resolve)
        wakeup = createCancellation()
        wakeup.signal.addEventListener('abort', () => {
          cancel()
          resolve()
        })
      }),
    end() {
      isEnded = true
      cancelRenewal()
    },
    release: () => going.cancel('stopping'),
  }
}

/** The outbound tasks. One process leases each. */
export interface Outbox {
  /** Due, unleased tasks, the longest waiting first. */
  due(): Promise<readonly OutgoingTaskRow[]>
  /** Leases it; `undefined` if another process was faster. */
  claim(row: OutgoingTaskRow): Promise<OutgoingTaskRow | undefined>
  /** Changes it and renews the lease; `undefined` if the lease was lost. */
  save(row: OutgoingTaskRow, set?: Change): Promise<OutgoingTaskRow | undefined>
  release(row: OutgoingTaskRow): Promise<void>
  drop(row: OutgoingTaskRow, more?: readonly Write[]): Promise<void>
}

type Change = Partial<Pick<OutgoingTaskRow, 'remoteId' | 'contextId' | 'attempts' | 'trouble'>>

interface OutboxDeps {
  readonly store: Store
  readonly clock: Clock
  /** The owner id of leases. */
  readonly self: string
  readonly leaseMs: number
  /** Whether no other process uses the store: then all lease owners are gone. */
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
      const query = { where: { nextAt: { atMost: now() } }, order: { by: ['nextAt', 'id'] }, limit: PAGE } as const
      for await (const rows of pagesOf(store, 'outgoingtasks', query)) found.push(...rows.filter(isFree))
      return found
    },
    claim: async row => (isFree(row) ? write(row, lease()) : undefined),
    save: (row, set = {}) => write(row, { ...set, ...lease() }),
    async release(row) {
      await write(row, { leaseOwner: null, leaseUntil: null })
    },
    async drop({ id, version }, more = []) {
      const gone = remove('outgoingtasks', { where: { id, version }, guard: 'outgoing.version' })
      const { committed } = await store.commit([gone, ...more])
      // A new lease owner finds by itself that it is over.
      if (!committed && more.length > 0) await store.commit(more)
    },
  }
}
