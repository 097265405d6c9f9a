import { type LeaseRow, messageOf, type NodeRow } from '../../contracts/index.ts'
import { type Cancel, type Clock, type Log } from '../kernel/index.ts'
import { type SharedTime, type StoreNews } from './news.ts'
import { type Store } from './store.ts'
import { insert, remove, update, type Write } from './write.ts'

/** Something that at most one of the processes on a store runs at a time. */
export interface Lease {
  /** Takes the lease as soon as it is free, now or later. Resolves when its holder is known. */
  acquire(): Promise<void>
  /** Finds out who has it, and leaves it there. */
  look(): Promise<void>
  /** As of the last look, and held for no longer than its time. */
  status(): LeaseStatus
  /** Calls back whenever the holder changes. */
  onChange(listener: () => void): Cancel
  /** Releases it permanently. */
  release(): Promise<void>
}

/** The holder: this process, for an earlier user in it (`inUse`), another process, none, or unknown. */
export type LeaseStatus =
  | { readonly kind: 'held' | 'inUse' | 'free' | 'unknown' }
  | { readonly kind: 'taken'; readonly by: Pick<LeaseRow, 'holder' | 'host'> }

/** Where leases are kept, and for whom. */
export interface LeaseStore {
  readonly store: Store
  readonly news: StoreNews
  /** What they are judged by; the clock alone when absent. */
  readonly time?: SharedTime | undefined
  readonly self: Pick<NodeRow, 'id' | 'host' | 'folder'>
}

interface LeaseDeps {
  /** What it is the lease of. */
  readonly id: string
  readonly clock: Clock
  readonly log: Log
  /** How long a lease lasts that is not renewed. */
  readonly leaseMs: number
  /** Nowhere when this process has the store for itself: then everything is its own. */
  place(): Promise<LeaseStore | undefined>
}

const FREE: LeaseStatus = { kind: 'free' }
const HELD: LeaseStatus = { kind: 'held' }
const UNKNOWN: LeaseStatus = { kind: 'unknown' }

function createLease(deps: LeaseDeps): Lease {
  const { id, clock, log, leaseMs } = deps
  const listeners = new Set<() => void>()
  let standing = UNKNOWN
  let heldUntil = Number.POSITIVE_INFINITY
  let [isWanted, wasHeld, isOver] = [false, false, false]
  let working: Promise<void> = Promise.resolve()
  let cancelLook: Cancel = () => {}
  let cancelEnd: Cancel = () => {}
  let stopHearing: Cancel = () => {}
  let placed: LeaseStore | undefined
  const now = () => Math.round(clock.now())

  function stand(next: LeaseStatus): void {
    const isSame = JSON.stringify(next) === JSON.stringify(standing)
    standing = next
    if (!isSame) for (const listener of [...listeners]) listener()
  }

  /** By the time and not by the timer: a process that was stopped gets to requests before it gets to its timers. */
  function current(): LeaseStatus {
    return standing.kind === 'held' && now() >= heldUntil ? UNKNOWN : standing
  }

  function lookIn(ms: number): void {
    cancelLook()
    if (!isOver) cancelLook = clock.after(Math.max(1, ms), () => void look())
  }

  /** One after the other. It settles always: who asked sees how it stands. */
  function look(): Promise<void> {
    working = working.then(async () => {
      if (isOver) return
      try {
        await lookNow()
      } catch (error) {
        log.warn('whose lease it is could not be found out', { lease: id, error: messageOf(error) })
        lookIn(leaseMs / 6)
      }
    })
    return working
  }

  async function lookNow(): Promise<void> {
    const place = await open()
    if (!place) return stand(HELD)
    await place.time?.align()
    const row = await place.store.get('leases', id)
    if (isOver) return
    if (row && !isFree(row, place)) return taken(row)
    if (!isWanted) return stand(FREE)
    const at = now()
    const { committed } = await place.store.commit([takeWrite(row, place, at + leaseMs)])
    if (!committed) return lookIn(1)
    held(at)
  }

  async function open(): Promise<LeaseStore | undefined> {
    if (placed) return placed
    placed = await deps.place()
    if (placed && !isOver)
      stopHearing = placed.news.listen({
        changed: rows => rows.some(({ table, ids }) => table === 'leases' && isAmong(ids)) && void look(),
        back: () => void look(),
      })
    return placed
  }

  const isAmong = (ids: readonly string[] | 'any') => ids === 'any' || ids.includes(id)

  /** Earlier holders of this folder are gone; a later holder of the same process is not. */
  function isFree(row: LeaseRow, { self }: LeaseStore): boolean {
    if (row.holder === self.id || row.leaseUntil <= now()) return true
    return row.folder === self.folder && !wasHeld
  }

  function taken({ holder, host, leaseUntil }: LeaseRow): void {
    cancelEnd()
    stand({ kind: 'taken', by: { holder, host } })
    lookIn(leaseUntil - now())
  }

  function takeWrite(row: LeaseRow | undefined, { self }: LeaseStore, leaseUntil: number): Write {
    const { id: holder, host, folder } = self
    if (!row) return insert('leases', { id, workspace: 'default', holder, host, folder, leaseUntil })
    const where = { id, holder: row.holder, leaseUntil: row.leaseUntil }
    // Only another holder is news for the others.
    const set = row.holder === holder ? { leaseUntil } : { holder, host, folder, leaseUntil }
    return update('leases', { where, set })
  }

  /** It ends here well before it does in the store: what runs by it has to be over when another one begins. */
  function held(at: number): void {
    cancelEnd()
    wasHeld = true
    heldUntil = at + (leaseMs * 2) / 3
    const leftMs = heldUntil - now()
    // A process that was stopped for that long during the write starts over before anything is begun.
    if (leftMs <= 0) {
      stand(UNKNOWN)
      return lookIn(1)
    }
    cancelEnd = clock.after(leftMs, () => stand(UNKNOWN))
    stand(HELD)
    lookIn(leaseMs / 3)
  }

  return {
    acquire() {
      isWanted = true
      return current().kind === 'held' ? Promise.resolve() : look()
    },
    look,
    status: current,
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async release() {
      isOver = true
      for (const cancel of [cancelLook, cancelEnd, stopHearing]) cancel()
      await working
      stand(UNKNOWN)
      if (!placed || !isWanted) return
      // If the store cannot be told, the lease expires at its time.
      const where = { id, holder: placed.self.id }
      await placed.store.commit([remove('leases', { where, rows: 'any' })]).catch(error => {
        log.debug('a lease could not be given back', { lease: id, error: messageOf(error) })
      })
    },
  }
}

/** The leases of this process, each held for as long as a user in it needs it. */
export interface Leases {
  /**
   * A second request for the same lease in this process gets it when the first has released it: a replacement begins when its
   * predecessor is over. The lease is given back when all have released theirs.
   */
  of(id: string): Lease
}

export function createLeases(deps: Omit<LeaseDeps, 'id'>): Leases {
  const known = new Map<string, Queue>()
  return {
    of(id) {
      const queue = known.get(id) ?? { lease: createLease({ ...deps, id }), users: [] }
      known.set(id, queue)
      return inTurn(queue, () => known.delete(id))
    },
  }
}

/** Those in this process that need one lease, in the order of their coming. */
interface Queue {
  readonly lease: Lease
  readonly users: User[]
}

interface User {
  /** It is the first one now. */
  begin(): void
}

const IN_USE: LeaseStatus = { kind: 'inUse' }

/** The lease as it is for one of them. */
function inTurn({ lease, users }: Queue, onLast: () => void): Lease {
  const listeners = new Set<() => void>()
  let begin = () => {}
  const turn = new Promise<void>(resolve => {
    begin = resolve
  })
  const user: User = {
    begin() {
      begin()
      for (const listener of [...listeners]) listener()
    },
  }
  users.push(user)
  const isFirst = () => users[0] === user
  const isOver = () => !users.includes(user)
  if (isFirst()) begin()

  return {
    acquire: () => turn.then(() => (isOver() ? undefined : lease.acquire())),
    look: lease.look,
    status() {
      const standing = lease.status()
      if (isFirst() || standing.kind !== 'held') return standing
      return isOver() ? UNKNOWN : IN_USE
    },
    onChange(listener): Cancel {
      const stop = lease.onChange(listener)
      listeners.add(listener)
      return () => {
        stop()
        listeners.delete(listener)
      }
    },
    async release() {
      const place = users.indexOf(user)
      if (place < 0) return
      users.splice(place, 1)
      // A caller that waits for its turn would wait forever.
      begin()
      if (users.length === 0) {
        onLast()
        await lease.release()
      } else if (place === 0) users[0]?.begin()
    },
  }
}

interface Holding {
  readonly clock: Clock
  /** How long to wait for the current holder. */
  readonly withinMs: number
  /** What is thrown when that takes longer. */
  late(): Error
}

/** Does something that no other process on the store does at the same time, and gives the lease back. */
export async function withLease<T>(lease: Lease, holding: Holding, work: () => Promise<T>): Promise<T> {
  try {
    await held(lease, holding)
    return await work()
  } finally {
    await lease.release()
  }
}

function held(lease: Lease, { clock, withinMs, late }: Holding): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      cancel()
      stop()
      settle()
    }
    const look = () => lease.status().kind === 'held' && end(resolve)
    const cancel = clock.after(withinMs, () => end(() => reject(late())))
    const stop = lease.onChange(look)
    void lease.acquire().then(look)
  })
}
