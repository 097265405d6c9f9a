import { type LeaseRow, messageOf, type NodeRow } from '../../contracts/index.ts'
import { type Cancel, type Clock, type Log } from '../kernel/index.ts'
import { type SharedTime, type StoreNews } from './news.ts'
import { type Store } from './store.ts'
import { insert, remove, update, type Write } from './write.ts'

/** The right to do something that at most one process on a store does at a time. */
export interface Lease {
  /** Takes the lease as soon as it is free, now or later. Resolves when its holder is known. */
  acquire(): Promise<void>
  /** Reads who holds the lease, without taking it. */
  look(): Promise<void>
  /** As of the last read; `held` ends with the time of the lease. */
  status(): LeaseStatus
  /** Calls back whenever the holder changes. */
  onChange(listener: () => void): Cancel
  /** Releases the lease permanently. */
  release(): Promise<void>
}

/** The holder: this process, this process for an earlier user (`inUse`), another process, none, or unknown. */
export type LeaseStatus =
  | { readonly kind: 'held' | 'inUse' | 'free' | 'unknown' }
  | { readonly kind: 'taken'; readonly by: Pick<LeaseRow, 'holder' | 'host'> }

/** Where leases are stored, and the process that holds them. */
export interface LeaseStore {
  readonly store: Store
  readonly news: StoreNews
  /** The time that leases are judged by; the clock alone when absent. */
  readonly time?: SharedTime | undefined
  readonly self: Pick<NodeRow, 'id' | 'host' | 'folder'>
}

interface LeaseDeps {
  readonly id: string
  readonly clock: Clock
  readonly log: Log
  /** How long a lease lasts without renewal. */
  readonly leaseMs: number
  /** Nothing when this process has the store to itself: then it holds every lease. */
  place(): Promise<LeaseStore | undefined>
}

const FREE: LeaseStatus = { kind: 'free' }
const HELD: LeaseStatus = { kind: 'held' }
const UNKNOWN: LeaseStatus = { kind: 'unknown' }

function createLease(deps: LeaseDeps): Lease {
  const { id, clock, log, leaseMs } = deps
  const listeners = new Set<() => void>()
  let status = UNKNOWN
  let heldUntil = Number.POSITIVE_INFINITY
  let [isWanted, wasHeld, isOver] = [false, false, false]
  let reading: Promise<void> = Promise.resolve()
  let cancelRead: Cancel = () => {}
  let cancelEnd: Cancel = () => {}
  let stopListening: Cancel = () => {}
  let opened: LeaseStore | undefined
  const now = () => Math.round(clock.now())

  function setStatus(next: LeaseStatus): void {
    const isSame = JSON.stringify(next) === JSON.stringify(status)
    status = next
    if (!isSame) for (const listener of [...listeners]) listener()
  }

  /** By the time, not by the timer: a process that was stopped handles requests before its timers fire. */
  function current(): LeaseStatus {
    return status.kind === 'held' && now() >= heldUntil ? UNKNOWN : status
  }

  function lookIn(ms: number): void {
    cancelRead()
    if (!isOver) cancelRead = clock.after(Math.max(1, ms), () => void look())
  }

  /** One read at a time. It never rejects: the status tells. */
  function look(): Promise<void> {
    reading = reading.then(async () => {
      if (isOver) return
      try {
        await lookNow()
      } catch (error) {
        log.warn('the holder of a lease could not be read', { lease: id, error: messageOf(error) })
        lookIn(leaseMs / 6)
      }
    })
    return reading
  }

  async function lookNow(): Promise<void> {
    const place = await open()
    if (!place) return setStatus(HELD)
    await place.time?.align()
    const row = await place.store.get('leases', id)
    if (isOver) return
    if (row && !isFree(row, place)) return taken(row)
    if (!isWanted) return setStatus(FREE)
    const at = now()
    const { committed } = await place.store.commit([takeWrite(row, place, at + leaseMs)])
    if (!committed) return lookIn(1)
    held(at)
  }

  async function open(): Promise<LeaseStore | undefined> {
    if (opened) return opened
    opened = await deps.place()
    if (opened && !isOver)
      stopListening = opened.news.listen({
        changed: rows => rows.some(({ table, ids }) => table === 'leases' && isAmong(ids)) && void look(),
        back: () => void look(),
      })
    return opened
  }

  const isAmong = (ids: readonly string[] | 'any') => ids === 'any' || ids.includes(id)

  /** Earlier processes of this folder are gone; a later holder within this process is not. */
  function isFree(row: LeaseRow, { self }: LeaseStore): boolean {
    if (row.holder === self.id || row.leaseUntil <= now()) return true
    return row.folder === self.folder && !wasHeld
  }

  function taken({ holder, host, leaseUntil }: LeaseRow): void {
    cancelEnd()
    setStatus({ kind: 'taken', by: { holder, host } })
    lookIn(leaseUntil - now())
  }

  function takeWrite(row: LeaseRow | undefined, { self }: LeaseStore, leaseUntil: number): Write {
    const { id: holder, host, folder } = self
    if (!row) return insert('leases', { id, workspace: 'default', holder, host, folder, leaseUntil })
    const where = { id, holder: row.holder, leaseUntil: row.leaseUntil }
    // A write of `holder` is announced to other processes; a renewal is not.
    const set = row.holder === holder ? { leaseUntil } : { holder, host, folder, leaseUntil }
    return update('leases', { where, set })
  }

  /** The lease ends here well before it does in the store: what runs under it must be over when another process begins. */
  function held(at: number): void {
    cancelEnd()
    wasHeld = true
    heldUntil = at + (leaseMs * 2) / 3
    const leftMs = heldUntil - now()
    // The process was stopped during the write for longer than that.
    if (leftMs <= 0) {
      setStatus(UNKNOWN)
      return lookIn(1)
    }
    cancelEnd = clock.after(leftMs, () => setStatus(UNKNOWN))
    setStatus(HELD)
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
      for (const cancel of [cancelRead, cancelEnd, stopListening]) cancel()
      await reading
      setStatus(UNKNOWN)
      if (!opened || !isWanted) return
      const where = { id, holder: opened.self.id }
      await opened.store.commit([remove('leases', { where, rows: 'any' })]).catch(error => {
        // The lease expires at its time.
        log.debug('a lease could not be released', { lease: id, error: messageOf(error) })
      })
    },
  }
}

/** The leases of this process. */
export interface Leases {
  /**
   * The second user of a lease in this process gets it when the first has released it, so a replacement begins when its
   * predecessor is over. The stored lease is released with its last user.
   */
  of(id: string): Lease
}

export function createLeases(deps: Omit<LeaseDeps, 'id'>): Leases {
  const known = new Map<string, SharedLease>()
  return {
    of(id) {
      const shared = known.get(id) ?? { lease: createLease({ ...deps, id }), users: [] }
      known.set(id, shared)
      return addUser(shared, () => known.delete(id))
    },
  }
}

/** A lease and its users in this process, in the order in which they came; the first one has it. */
interface SharedLease {
  readonly lease: Lease
  readonly users: { begin(): void }[]
}

function addUser({ lease, users }: SharedLease, onLast: () => void): Lease {
  const listeners = new Set<() => void>()
  let begin = () => {}
  const turn = new Promise<void>(resolve => {
    begin = resolve
  })
  const user = {
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
      const status = lease.status()
      if (isFirst() || status.kind !== 'held') return status
      return isOver() ? UNKNOWN : { kind: 'inUse' }
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
      const index = users.indexOf(user)
      if (index < 0) return
      users.splice(index, 1)
      // A caller that waits for its turn would wait forever.
      begin()
      if (users.length === 0) {
        onLast()
        await lease.release()
      } else if (index === 0) users[0]?.begin()
    },
  }
}

interface HoldOptions {
  readonly clock: Clock
  /** How long to wait for the current holder. */
  readonly withinMs: number
  /** The error when that takes longer. */
  late(): Error
}

/** Does something that no other process on the store does at the same time, then releases the lease. */
export async function withLease<T>(lease: Lease, options: HoldOptions, work: () => Promise<T>): Promise<T> {
  try {
    await untilHeld(lease, options)
    return await work()
  } finally {
    await lease.release()
  }
}

function untilHeld(lease: Lease, { clock, withinMs, late }: HoldOptions): Promise<void> {
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
