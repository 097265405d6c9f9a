import type { Table } from '../../contracts/index.ts'
import type { StorageAccess } from '../../core/operations/index.ts'
import type { CommitOutcome, Query, Store, Write } from '../../core/store/index.ts'
import type { FakeClock } from '../fake-clock.ts'

/** A process of the simulation. What it holds of the world is taken from it when it dies, and withheld while it sleeps. */
export interface Life {
  isOver(): boolean
  end(): void
  sleep(): void
  wake(): void
  /** Resolves as soon as it is awake; never when it is dead. */
  awake(): Promise<void>
}

/** Nothing comes back from here. */
const NEVER = new Promise<never>(() => {})

export function createLife(): Life {
  let isOver = false
  let sleeping: { readonly over: Promise<void>; end(): void } | undefined
  return {
    isOver: () => isOver,
    end() {
      isOver = true
    },
    sleep() {
      let end = () => {}
      const over = new Promise<void>(resolve => {
        end = resolve
      })
      sleeping ??= { over, end }
    },
    wake() {
      sleeping?.end()
      sleeping = undefined
    },
    async awake() {
      await sleeping?.over
      // It may have gone to sleep again meanwhile.
      if (sleeping) await this.awake()
      if (isOver) await NEVER
    },
  }
}

/** Time as a process sees it: what it had planned waits while it sleeps, and never happens once it is dead. */
export function clockOf(clock: FakeClock, life: Life): FakeClock {
  return {
    ...clock,
    after: (ms, task) => clock.after(ms, () => void life.awake().then(task)),
    breathe: () => clock.breathe().then(() => life.awake()),
  }
}

/** What happens on the way to the store: a commit fails before or after it was written, or the test changes it. */
export interface Way {
  fault(writes: readonly Write[]): 'none' | 'lost' | 'unseen'
  /** The error of a commit that failed. */
  error(kind: 'lost' | 'unseen'): Error
  /** A planted mistake, where one is to be found. */
  bend(writes: readonly Write[]): readonly Write[]
  /** Told of what was written, in the order in which it was, and how many rows each write touched. */
  onWritten(writes: readonly Write[], rows: readonly number[]): void
  /** Throws where something cannot be read. */
  onRead?(table: Table | undefined, where: object): void
  /** Like `bend`, for what is read. */
  bendFind?(find: Store['find']): Store['find']
}

/** The store as a process reaches it. */
export function storageOf(shared: StorageAccess & { readonly store: Store }, life: Life, way: Way): StorageAccess {
  async function commit(writes: readonly Write[]): Promise<CommitOutcome> {
    await life.awake()
    const fault = way.fault(writes)
    if (fault === 'lost') throw way.error('lost')
    const outcome = await shared.store.commit(way.bend(writes))
    // Written is written, whether or not its process lives to hear of it.
    if (outcome.committed) way.onWritten(writes, outcome.rows)
    await life.awake()
    if (fault === 'unseen') throw way.error('unseen')
    return outcome
  }

  async function read<T>(table: Table | undefined, where: object, work: () => Promise<T>): Promise<T> {
    await life.awake()
    way.onRead?.(table, where)
    const value = await work()
    await life.awake()
    return value
  }

  const find = way.bendFind?.(shared.store.find) ?? shared.store.find
  const store: Store = {
    commit,
    get: (table, id) => read(table, { id }, () => shared.store.get(table, id)),
    find: (table, query) => read(table, (query as Query<Table>).where ?? {}, () => find(table, query)),
    count: (table, where) => read(table, where ?? {}, () => shared.store.count(table, where)),
    words: shared.store.words,
  }
  return {
    open: () => read(undefined, {}, async () => ({ ...(await shared.open()), store })),
    current: () => {
      const current = shared.current()
      return current && { ...current, store }
    },
  }
}
