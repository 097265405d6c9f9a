import { AppError } from '../../contracts/index.ts'
import { type CancelSignal, type Clock, createCancellation } from '../kernel/index.ts'
import { type NewsListener, type StoreNews } from '../store/index.ts'

/** A client of the workspace that takes messages out of its inbox. */
export type Reader = string

/** The readers that are at an inbox here, or have something of one in hand. */
interface Readers {
  /** Runs what a reader does at an inbox. Its signal is given when the one of the request is, and when the reader leaves. */
  during<T>(visit: Visit, work: (signal: CancelSignal) => Promise<T>): Promise<T>
  /** It is about to have something of this inbox in hand. */
  takes(reader: Reader, workspaceId: string): void
  /** Ends what a reader does. Answers the workspaces of whose messages it may have some, once all of that is over. */
  leave(reader: Reader): Promise<readonly string[]>
}

interface Visit {
  readonly reader: Reader
  readonly signal?: CancelSignal | undefined
}

interface ReadersDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly leaseMs: number
}

interface Known {
  /** When the last lease of each is over. */
  readonly until: Map<string, number>
  readonly visits: Set<{ readonly over: Promise<unknown>; end(): void }>
}

/** With more of them, those are forgotten whose leases are over: clients of many kinds never say that they leave. */
const MANY = 1_000

const LONGEST_READER = 200

/** The reader that a client is. */
export function readerOf(client: string): Reader {
  return client.slice(0, LONGEST_READER)
}

/** Sessions and lent tokens live in the memory of one process; every other reader may come back after a restart. */
const ENDS_WITH_PROCESS = /(?:^| )(?:run|session)_/

/** The name under which this process leases messages for a reader: with the process in it where the reader ends with that. */
export function leaseOwnerOf(reader: Reader, process: string): string {
  return ENDS_WITH_PROCESS.test(reader) ? `${reader} ${process}` : reader
}

/** Whether the reader that holds this lease cannot come back: its process does not run. */
export function isLeaseOrphaned(leaseOwner: string, running: ReadonlySet<string>): boolean {
  return ENDS_WITH_PROCESS.test(leaseOwner) && !running.has(leaseOwner.slice(leaseOwner.lastIndexOf(' ') + 1))
}

export function createReaders({ clock, leaseMs }: ReadersDeps): Readers {
  const readers = new Map<Reader, Known>()

  function forgetOld(): void {
    const now = clock.now()
    for (const [reader, { until, visits }] of readers)
      if (visits.size === 0 && [...until.values()].every(at => at <= now)) readers.delete(reader)
  }

  function knownAs(reader: Reader): Known {
    const known = readers.get(reader)
    if (known) return known
    if (readers.size >= MANY) forgetOld()
    const made: Known = { until: new Map(), visits: new Set() }
    readers.set(reader, made)
    return made
  }

  return {
    async during({ reader, signal }, work) {
      const { visits } = knownAs(reader)
      const { signal: ours, cancel } = createCancellation()
      const end = () => cancel(new AppError('CANCELLED', 'The reader has left.'))
      if (signal?.aborted) end()
      signal?.addEventListener('abort', end)
      const over = work(ours)
      const visit = { over, end }
      visits.add(visit)
      try {
        return await over
      } finally {
        visits.delete(visit)
        signal?.removeEventListener('abort', end)
      }
    },
    takes: (reader, workspaceId) => void knownAs(reader).until.set(workspaceId, clock.now() + leaseMs),
    async leave(reader) {
      const known = readers.get(reader)
      if (!known) return []
      for (const { end } of known.visits) end()
      // One that was about to get something has got it by then.
      await Promise.allSettled([...known.visits].map(({ over }) => over))
      readers.delete(reader)
      return [...known.until.keys()]
    },
  }
}

/** Those who wait for something to happen in the log or inbox of a workspace. */
export interface Watchers extends Required<NewsListener> {
  /** Has `wake` called whenever something may have happened there. Throws `RATE_LIMITED` when too many wait already. */
  watch(workspaceId: string, wake: () => void): () => void
  /** Something has happened in these. */
  tell(workspaceIds: readonly string[]): void
  /** How often something may have happened there while it was watched; it begins again at zero when no reader watches. */
  told(workspaceId: string): number
  count(): number
  /** Everybody is woken, and finds that it is over. */
  stop(): void
  isStopped(): boolean
}

interface Watched {
  readonly wakes: Set<() => void>
  told: number
}

/** An agent has a few clients, and each waits once or twice. */
export const MOST_READERS = 64

export function createWatchers({ most = MOST_READERS }: { readonly most?: number } = {}): Watchers {
  const waiting = new Map<string, Watched>()
  let isOver = false

  function tell(workspaceIds: Iterable<string>): void {
    for (const id of workspaceIds) {
      const watched = waiting.get(id)
      if (!watched) continue
      watched.told++
      for (const wake of [...watched.wakes]) wake()
    }
  }

  const tellAll = () => tell([...waiting.keys()])

  function leave(workspaceId: string, wake: () => void): void {
    const wakes = waiting.get(workspaceId)?.wakes
    wakes?.delete(wake)
    if (wakes?.size === 0) waiting.delete(workspaceId)
  }

  return {
    watch(workspaceId, wake) {
      const watched: Watched = waiting.get(workspaceId) ?? { wakes: new Set(), told: 0 }
      if (watched.wakes.size >= most) throw tooMany(most)
      watched.wakes.add(wake)
      waiting.set(workspaceId, watched)
      return () => leave(workspaceId, wake)
    },
    tell,
    changed(rows) {
      for (const { table, ids } of rows) {
        if (table !== 'activity' && table !== 'inbox') continue
        if (ids === 'any') tellAll()
        else tell(ids)
      }
    },
    // Waiting readers have to look for themselves from now on, or may have missed something.
    lost: tellAll,
    back: tellAll,
    told: workspaceId => waiting.get(workspaceId)?.told ?? 0,
    count: () => [...waiting.values()].reduce((sum, { wakes }) => sum + wakes.size, 0),
    stop() {
      isOver = true
      tellAll()
    },
    isStopped: () => isOver,
  }
}

function tooMany(most: number): AppError {
  const message = `${most} readers wait for this workspace already. Wait for one to end.`
  return new AppError('RATE_LIMITED', message, { details: { limit: most } })
}

/** What a look into an inbox has found, and for whom else there may be something now. */
export type Glance<T> = Look<T> & {
  /** Everybody, or only these readers: all else that is there is in their hands. */
  readonly others: 'everybody' | ReadonlySet<string>
  /** When messages that other readers hold are free again, if nothing happens before. */
  readonly again?: number | undefined
}

/** Whose look it is, and into which inbox. */
interface Looker {
  readonly workspaceId: string
  readonly reader: string
}

/** The looks of those who wait for one inbox. */
interface Looks {
  /** Looks as often as it is asked to, one after the other with all others, and only where it can find something. */
  inTurn<T>(who: Looker, look: () => Promise<Glance<T>>): () => Promise<Look<T>>
}

/** What the last look into an inbox has shown. */
interface Shown extends Omit<Glance<unknown>, 'found'> {
  /** How often something had happened there when it began. */
  readonly told: number
}

/** So many inboxes are remembered; then inboxes without a reader are forgotten, which costs a look. */
const MOST_KNOWN = 1_000

interface Queue {
  end: Promise<unknown>
  length: number
  shown?: Shown
}

/**
 * Everybody who waits for an inbox hears of each message, and one of them gets it. If all looked, a message would cost as many looks
 * as there are readers, and all but one would find it taken at the last step and start again. So they look one after the other,
 * and a reader behind a look that has left nothing for it waits on without one.
 */
export function createLooks({ clock, watchers, news }: WaitDeps): Looks {
  const queues = new Map<string, Queue>()

  /** Whether there is nothing for this reader, by a look that began after all that has happened. */
  function isNothing({ workspaceId, reader }: Looker, shown: Shown | undefined): shown is Shown {
    if (!shown || shown.told !== watchers.told(workspaceId) || news?.isConnected() === false) return false
    if (shown.others === 'everybody' || shown.others.has(reader)) return false
    return shown.again === undefined || shown.again > clock.now()
  }

  async function take<T>(queue: Queue, who: Looker, look: () => Promise<Glance<T>>, mayRest: boolean) {
    if (mayRest && isNothing(who, queue.shown)) return { again: queue.shown.again }
    const told = watchers.told(who.workspaceId)
    const glance = await look()
    queue.shown = { told, others: glance.others, again: glance.again }
    return glance
  }

  function queueOf(workspaceId: string): Queue {
    const known = queues.get(workspaceId)
    if (known) return known
    if (queues.size >= MOST_KNOWN) for (const [id, { length }] of queues) if (length === 0) queues.delete(id)
    const queue = { end: Promise.resolve(), length: 0 }
    queues.set(workspaceId, queue)
    return queue
  }

  async function inQueue<T>(queue: Queue, work: () => Promise<T>): Promise<T> {
    queue.length++
    const turn = queue.end.then(work)
    // The next reader looks for itself, whether this look fails or not.
    queue.end = turn.catch(() => {})
    try {
      return await turn
    } finally {
      queue.length--
    }
  }

  return {
    inTurn(who, look) {
      // The first look is for messages from before the wait.
      let isFirst = true
      return () => {
        const mayRest = !isFirst
        isFirst = false
        const queue = queueOf(who.workspaceId)
        return inQueue(queue, () => take(queue, who, look, mayRest))
      }
    },
  }
}

export interface WaitDeps {
  readonly clock: Clock
  readonly watchers: Watchers
  /** Absent where no other process shares the store. */
  readonly news?: Pick<StoreNews, 'isConnected'> | undefined
}

interface WaitOptions {
  readonly workspaceId: string
  readonly waitMs: number
  readonly signal?: CancelSignal | undefined
  /** Told now and then for as long as it lasts: many clients give up on a call that they hear nothing of. */
  readonly onWaiting?: (() => void) | undefined
}

/** What a look has found; or when to look again even if nothing happens. */
export type Look<T> = { readonly found: T } | { readonly again?: number | undefined }

/** While nothing is heard of what other processes do, everybody looks by itself this often. */
const LOOK_MS = 1_000
const TELL_MS = 15_000

/**
 * Looks until something is found, the time is over, the signal is given or everything ends; nothing then. What happens between a
 * look and the wait behind it is not missed.
 */
export async function waitUntilFound<T>(
  { clock, watchers, news }: WaitDeps,
  { workspaceId, waitMs, signal, onWaiting }: WaitOptions,
  look: () => Promise<Look<T>>,
): Promise<T | undefined> {
  const until = clock.now() + waitMs
  let tellAt = onWaiting ? clock.now() + TELL_MS : until
  const bell = createBell()
  const leave = watchers.watch(workspaceId, bell.ring)
  signal?.addEventListener('abort', bell.ring)
  try {
    for (;;) {
      bell.reset()
      const seen = await look()
      if ('found' in seen) return seen.found
      const left = until - clock.now()
      if (left <= 0 || signal?.aborted || watchers.isStopped()) return undefined
      const next = Math.min(until, tellAt, seen.again ?? until) - clock.now()
      const soonest = news?.isConnected() === false ? Math.min(LOOK_MS, next) : next
      const cancel = clock.after(Math.max(1, soonest), bell.ring)
      await bell.rung()
      cancel()
      if (signal?.aborted) return undefined
      if (clock.now() < tellAt || clock.now() >= until) continue
      onWaiting?.()
      tellAt = clock.now() + TELL_MS
    }
  } finally {
    leave()
    signal?.removeEventListener('abort', bell.ring)
  }
}

/** Remembers that it rang until a reader waits for it. */
function createBell() {
  let hasRung = false
  let wake: (() => void) | undefined
  return {
    reset() {
      hasRung = false
    },
    ring() {
      hasRung = true
      wake?.()
    },
    rung: () =>
      new Promise<void>(resolve => {
        if (hasRung) resolve()
        else wake = resolve
      }),
  }
}
