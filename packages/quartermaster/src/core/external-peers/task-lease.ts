import { type OutgoingTaskRow } from '../../contracts/index.ts'
import { type Cancel, type Cancellation, type CancelSignal, type Clock, createCancellation } from '../kernel/index.ts'
import { remove, type Store, update, type Write } from '../store/index.ts'

/** A task that this process looks after. */
export interface HeldTask {
  readonly row: OutgoingTaskRow
  /** Changes what is on record. Throws `LeaseLost` when another process has it by now. */
  save(set: Change): Promise<void>
  /** Given when it has to be let go. */
  readonly gone: CancelSignal
  /** Given when something has happened here that counts for it, or when it has to be let go. A new one for each step. */
  stirred(): CancelSignal
  stir(): void
  /** Waits, but not longer than until it is stirred. */
  rest(ms: number): Promise<void>
  /** Nothing of it is kept up any more. */
  end(): void
  letGo(): void
}

/** Another process looks after it. */
export class LeaseLost extends Error {}

interface HeldTaskDeps {
  readonly outbox: Outbox
  readonly clock: Clock
  readonly leaseMs: number
}

/** Keeps a task that was claimed, and says so from time to time. */
export function holdTask(claimed: OutgoingTaskRow, { outbox, clock, leaseMs }: HeldTaskDeps): HeldTask {
  let row = claimed
  let isStirred = false
  let isEnded = false
  let stirring: Cancellation = createCancellation()
  let cancelRenewal: Cancel = () => {}
  const going = createCancellation()
  going.signal.addEventListener('abort', () => stirring.cancel('gone'))
  // One after the other: each names the version that the one before has made.
  let saving: Promise<void> = Promise.resolve()

  function save(set: Change): Promise<void> {
    const turn = saving.then(async () => {
      const saved = await outbox.save(row, set)
      if (!saved) throw new LeaseLost('Another process looks after it.')
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
    stirred() {
      stirring = createCancellation()
      // What has happened since the step before is not missed.
      if (isStirred || going.signal.aborted) stirring.cancel('stirred')
      isStirred = false
      return stirring.signal
    },
    stir() {
      isStirred = true
      stirring.cancel('stirred')
    },
    rest: ms =>
      new Promise(resolve => {
        if (isStirred || going.signal.aborted) return resolve()
        const cancel = clock.after(ms, resolve)
        stirring = createCancellation()
        stirring.signal.addEventListener('abort', () => {
          cancel()
          resolve()
        })
      }),
    end() {
      isEnded = true
      cancelRenewal()
    },
    letGo: () => going.cancel('stopping'),
  }
}

/** What is on its way to agents elsewhere. One process looks after each, for as long as it says so. */
export interface Outbox {
  /** Tasks that are due and not leased, the longest waiting first. */
  due(): Promise<readonly OutgoingTaskRow[]>
  /** This process looks after it from now on; nothing when another one does. */
  claim(row: OutgoingTaskRow): Promise<OutgoingTaskRow | undefined>
  /** Changes it, and says that it is still looked after; nothing when that is another one's by now. */
  save(row: OutgoingTaskRow, set?: Change): Promise<OutgoingTaskRow | undefined>
  /** Another process may lease it. */
  release(row: OutgoingTaskRow): Promise<void>
  /** It is over. */
  drop(row: OutgoingTaskRow, more?: readonly Write[]): Promise<void>
}

type Change = Partial<Pick<OutgoingTaskRow, 'remoteId' | 'contextId' | 'attempts' | 'trouble'>>

export interface OutboxDeps {
  readonly store: Store
  readonly clock: Clock
  /** What leases are held under. */
  readonly self: string
  readonly leaseMs: number
  /** Whether no other process works on the store: then the holders of leases are gone. */
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
      // A new holder finds for itself that it is over.
      if (!committed && more.length > 0) await store.commit(more)
    },
  }
}
