import { messageOf, type NodeRow } from '../../contracts/index.ts'
import type { Cancel, Clock, Log } from '../kernel/index.ts'
import { type SharedTime, type StoreNews } from './news.ts'
import type { Store } from './store.ts'
import { insert, remove, update } from './write.ts'

/** The processes that work on one store. */
export interface Nodes {
  /** The id of this process, which its leases name as their owner. */
  readonly id: string
  readonly self: Pick<NodeRow, 'id' | 'host' | 'folder'>
  /** Registers this process, and keeps it registered. */
  join(): Promise<void>
  publishUrl(url: string): Promise<void>
  /** The running processes, the longest-running first. */
  running(): Promise<readonly NodeRow[]>
  /** Removes processes that were gone at that time. Call it after their work, read since then, was taken over. */
  removeGone(at: number): Promise<void>
  /** Whether no other process ran at the last read, which is at most a third of a lease old. */
  isAlone(): boolean
  /** Whether this process runs longest: it does what one process does for all. */
  isOldest(): boolean
  /** Reads the processes again. */
  look(): Promise<void>
  leave(): Promise<void>
}

export interface NodesDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly self: Pick<NodeRow, 'id' | 'host' | 'folder' | 'version'>
  /** How long a process is considered running without a heartbeat. */
  readonly leaseMs: number
  readonly news: StoreNews
  /** The time that leases are judged by; the clock alone when absent. */
  readonly time?: SharedTime | undefined
  /** Called when a process is gone, and with every read until its row is removed. */
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

  /** Earlier processes of this folder are gone, because this one has it. This process runs, however long it slept. */
  function isRunning({ id, folder, leaseUntil }: NodeRow): boolean {
    return id === self.id || (folder !== self.folder && leaseUntil > now())
  }

  /** One read at a time: an older result must not replace a newer one. */
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

  /** Renews the row; inserts it again where another process has removed it as gone. */
  async function heartbeat(): Promise<void> {
    const { id, leaseUntil } = row()
    const { committed } = await store.commit([update('nodes', { where: { id }, set: { leaseUntil, url } })])
    if (!committed && !isLeaving) await store.commit([insert('nodes', row())])
    await look()
  }

  function scheduleHeartbeat(): void {
    if (isLeaving) return
    cancelTimer = clock.after(leaseMs / 3, () => {
      heartbeat()
        .catch(error => log.warn('the heartbeat of this process could not be written', { error: messageOf(error) }))
        .finally(scheduleHeartbeat)
    })
  }

  const stopListening = news.listen({
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
      // A joining process recovers crashed calls before anything else, and needs no `onGone`.
      known = await running()
      scheduleHeartbeat()
    },
    async publishUrl(at) {
      url = at
      await heartbeat()
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
      stopListening()
      cancelTimer()
      await store.commit([remove('nodes', { where: { id: self.id }, rows: 'any' })])
    },
  }
}
