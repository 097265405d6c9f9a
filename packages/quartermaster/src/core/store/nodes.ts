import { messageOf, type NodeRow } from '../../contracts/index.ts'
import type { Cancel, Clock, Log } from '../kernel/index.ts'
import { type SharedTime, type StoreNews } from './news.ts'
import type { Store } from './store.ts'
import { insert, remove, update } from './write.ts'

/** The processes that work on one store. */
export interface Nodes {
  /** What this one is known by: its leases are held under it. */
  readonly id: string
  /** Where this one is. */
  readonly self: Pick<NodeRow, 'id' | 'host' | 'folder'>
  /** Makes this process one of them, and keeps it so. */
  join(): Promise<void>
  /** Where this one listens. */
  publishUrl(url: string): Promise<void>
  /** The running processes, the longest-running first. */
  running(): Promise<readonly NodeRow[]>
  /** Forgets those that were gone at that time. What they had in hand has to be settled before, and has been read since then. */
  removeGone(at: number): Promise<void>
  /** Whether no other was there at the last look, which is a third of a lease old at most. */
  isAlone(): boolean
  /** Whether this one has been there for longest, and so does what one is to do for all. */
  isOldest(): boolean
  /** Looks again now. */
  look(): Promise<void>
  leave(): Promise<void>
}

export interface NodesDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly self: Pick<NodeRow, 'id' | 'host' | 'folder' | 'version'>
  /** How long a process counts as running without a sign of life. */
  readonly leaseMs: number
  readonly news: StoreNews
  /** What leases are judged by; the clock alone when absent. */
  readonly time?: SharedTime | undefined
  /** Called when other processes were there and are gone, and with every check for as long as a process that is gone is not forgotten. */
  onGone?: (() => void) | undefined
}

const MOST = 1_000

export function createNodes({ store, clock, log, self, leaseMs, news, time, onGone }: NodesDeps): Nodes {
  const startedAt = now()
  let url: string | null = null
  let known: readonly NodeRow[] = []
  let looking: Promise<void> = Promise.resolve()
  let cancelTimer: Cancel = () => {}
  let isLeaving = false

  function now(): number {
    return Math.round(clock.now())
  }

  const row = (): NodeRow => ({
    ...self,
    organisation: 'default',
    workspace: 'default',
    url,
    startedAt,
    leaseUntil: now() + leaseMs,
  })

  async function all(): Promise<readonly NodeRow[]> {
    await time?.align()
    return store.find('nodes', { order: { by: ['startedAt', 'id'] }, limit: MOST })
  }

  const running = async () => (await all()).filter(isRunning)

  /** A process with the folder for itself means that earlier holders are gone; the process itself is running, however long it slept. */
  function isRunning({ id, folder, leaseUntil }: NodeRow): boolean {
    return id === self.id || (folder !== self.folder && leaseUntil > now())
  }

  /** One after the other: what was read first must not be what is known last. */
  function look(): Promise<void> {
    const turn = looking.then(lookNow)
    looking = turn.catch(() => {
      // The caller gets the error, and the next check tries again.
    })
    return turn
  }

  async function lookNow(): Promise<void> {
    const rows = await all()
    const before = known
    known = rows.filter(isRunning)
    const hasLeft = before.some(({ id }) => !rows.some(row => row.id === id))
    if (!isLeaving && (hasLeft || known.length < rows.length)) onGone?.()
  }

  function lookSoon(): void {
    if (isLeaving) return
    look().catch(error => log.warn('which processes run could not be read', { error: messageOf(error) }))
  }

  /** A process that was thought gone and forgotten is back. */
  async function say(): Promise<void> {
    const { id, leaseUntil } = row()
    const { committed } = await store.commit([update('nodes', { where: { id }, set: { leaseUntil, url } })])
    if (!committed && !isLeaving) await store.commit([insert('nodes', row())])
    await look()
  }

  function rest(): void {
    if (isLeaving) return
    cancelTimer = clock.after(leaseMs / 3, () => {
      say()
        .catch(error => log.warn('that this process runs could not be written', { error: messageOf(error) }))
        .finally(rest)
    })
  }

  const stopHearing = news.listen({
    changed: rows => rows.some(({ table }) => table === 'nodes') && lookSoon(),
    back: lookSoon,
  })

  return {
    id: self.id,
    self,
    running,
    look,
    async join() {
      await store.commit([insert('nodes', row())])
      // A process that joins settles what it finds before anything else, and needs no notification.
      known = await running()
      rest()
    },
    async publishUrl(at) {
      url = at
      await say()
    },
    async removeGone(at) {
      const gone = { leaseUntil: { atMost: Math.round(at) }, id: { not: self.id } }
      const before = { folder: self.folder, id: { not: self.id } }
      await store.commit([
        remove('nodes', { where: before, rows: 'any' }),
        remove('nodes', { where: gone, rows: 'any' }),
      ])
    },
    isAlone: () => known.every(({ id }) => id === self.id),
    isOldest: () => known.length === 0 || known[0]?.id === self.id,
    async leave() {
      isLeaving = true
      stopHearing()
      cancelTimer()
      await store.commit([remove('nodes', { where: { id: self.id }, rows: 'any' })])
    },
  }
}
