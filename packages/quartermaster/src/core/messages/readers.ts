import { AppError } from '../../contracts/index.ts'
import { type CancelSignal, type Clock, createCancellation } from '../kernel/index.ts'
import { type NewsListener, type StoreNews } from '../store/index.ts'

/** A client of a workspace that takes messages from its inbox. */
export type Reader = string

/** Readers that use an inbox in this process or hold messages of it. */
interface Readers {
  /** Runs an inbox request of a reader. Its signal aborts with the request's, or when the reader disconnects. */
  during<T>(
    visit: { reader: Reader; signal?: CancelSignal | undefined },
    work: (signal: CancelSignal) => Promise<T>,
  ): Promise<T>
  /** The reader is about to lease messages of this inbox. */
  takes(reader: Reader, workspaceId: string): void
  /** Ends the requests of a reader. Returns the workspaces of which it may hold messages, once its requests have ended. */
  leave(reader: Reader): Promise<readonly string[]>
}

interface Known {
  /** When the last lease per workspace ends. */
  readonly until: Map<string, number>
  readonly requests: Set<{ readonly over: Promise<unknown>; end(): void }>
}

/** Above this number readers without leases are forgotten: many clients never disconnect explicitly. */
const MANY = 1_000

const LONGEST_READER = 200

export function readerOf(client: string): Reader {
  return client.slice(0, LONGEST_READER)
}

/** Sessions and lent tokens live in the memory of one process; all other readers may return after a restart. */
const ENDS_WITH_PROCESS = /(?:^| )(?:run|session)_/

/** The lease owner of a reader: includes the process if the reader ends with it. */
export function leaseOwnerOf(reader: Reader, process: string): string {
  return ENDS_WITH_PROCESS.test(reader) ? `${reader} ${process}` : reader
}

/** Whether the reader of this lease cannot return because its process has ended. */
export function isLeaseOrphaned(leaseOwner: string, running: ReadonlySet<string>): boolean {
  return ENDS_WITH_PROCESS.test(leaseOwner) && !running.has(leaseOwner.slice(leaseOwner.lastIndexOf(' ') + 1))
}

export function createReaders({ clock, leaseMs }: { clock: Pick<Clock, 'now'>; leaseMs: number }): Readers {
  const readers = new Map<Reader, Known>()

  function forgetOld(): void {
    const now = clock.now()
    for (const [reader, { until, requests }] of readers)
      if (requests.size === 0 && [...until.values()].every(at => at <= now)) readers.delete(reader)
  }

  function knownAs(reader: Reader): Known {
    const known = readers.get(reader)
    if (known) return known
    if (readers.size >= MANY) forgetOld()
    const made: Known = { until: new Map(), requests: new Set() }
    readers.set(reader, made)
    return made
  }

  return {
    async during({ reader, signal }, work) {
      const { requests } = knownAs(reader)
      const { signal: ours, cancel } = createCancellation()
      const end = () => cancel(new AppError('CANCELLED', 'The reader has left.'))
      if (signal?.aborted) end()
      signal?.addEventListener('abort', end)
      const over = work(ours)
      const visit = { over, end }
      requests.add(visit)
      try {
        return await over
      } finally {
        requests.delete(visit)
        signal?.removeEventListener('abort', end)
      }
    },
    takes: (reader, workspaceId) => void knownAs(reader).until.set(workspaceId, clock.now() + leaseMs),
    async leave(reader) {
      const known = readers.get(reader)
      if (!known) return []
      for (const { end } of known.requests) end()
      // A request that was about to lease messages has done so by then.
      await Promise.allSettled([...known.requests].map(({ over }) => over))
      readers.delete(reader)
      return [...known.until.keys()]
    },
  }
}

/** Callers that wait for changes of a workspace's log or inbox. */
export interface Watchers extends Required<NewsListener> {
  /** Calls `wake` whenever something may have changed. Throws `RATE_LIMITED` if too many wait already. */
  watch(workspaceId: string, wake: () => void): () => void
  /** Notifies that these workspaces changed. */
  tell(workspaceIds: readonly string[]): void
  /** Number of possible changes while it was watched; restarts at zero when it is no longer watched. */
  changeCount(workspaceId: string): number
  count(): number
  /** Wakes everyone, to find that waiting has ended. */
  stop(): void
  isStopped(): boolean
}

interface Watched {
  readonly wakes: Set<() => void>
  changes: number
}

/** An agent has a few clients, each waiting once or twice. */
export const MOST_READERS = 64

export function createWatchers({ most = MOST_READERS }: { readonly most?: number } = {}): Watchers {
  const waiting = new Map<string, Watched>()
  let isOver = false

  function tell(workspaceIds: Iterable<string>): void {
    for (const id of workspaceIds) {
      const watched = waiting.get(id)
      if (!watched) continue
      watched.changes++
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
      const watched: Watched = waiting.get(workspaceId) ?? { wakes: new Set(), changes: 0 }
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
    // Notifications may have been missed, so waiting readers check for themselves.
    lost: tellAll,
    back: tellAll,
    changeCount: workspaceId => waiting.get(workspaceId)?.changes ?? 0,
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

/** Result of checking an inbox, and which other readers may find something now. */
export type InboxCheck<T> = CheckResult<T> & {
  /** All readers, or only these: they hold everything else there is. */
  readonly others: 'everybody' | ReadonlySet<string>
  /** When messages leased by others are free again. */
  readonly again?: number | undefined
}

/** The reader and the inbox of a check. */
interface CheckRequest {
  readonly workspaceId: string
  readonly reader: string
}

/** Result of the last check of an inbox. */
interface LastCheck extends Omit<InboxCheck<unknown>, 'found'> {
  /** The change count when the check began. */
  readonly changes: number
}

/** Above this number inboxes without a reader are forgotten, which costs one extra check. */
const MOST_KNOWN = 1_000

interface Queue {
  end: Promise<unknown>
  length: number
  lastCheck?: LastCheck
}

/**
 * All readers of an inbox are notified of each message, and one gets it. If all checked at once, a message would cost as many
 * checks as there are readers, and all but one would fail at the last step and start again. So they check one after the other, and
 * a reader behind a check that left nothing for it keeps waiting.
 */
export function createCheckQueue({ clock, watchers, news }: WaitDeps) {
  const queues = new Map<string, Queue>()

  /** Whether a check that began after the last change has left nothing for this reader. */
  function hasNothingFor(
    { workspaceId, reader }: CheckRequest,
    lastCheck: LastCheck | undefined,
  ): lastCheck is LastCheck {
    if (!lastCheck || lastCheck.changes !== watchers.changeCount(workspaceId) || news?.isConnected() === false)
      return false
    if (lastCheck.others === 'everybody' || lastCheck.others.has(reader)) return false
    return lastCheck.again === undefined || lastCheck.again > clock.now()
  }

  async function take<T>(queue: Queue, who: CheckRequest, check: () => Promise<InboxCheck<T>>, mayRest: boolean) {
    if (mayRest && hasNothingFor(who, queue.lastCheck)) return { again: queue.lastCheck.again }
    const changes = watchers.changeCount(who.workspaceId)
    const result = await check()
    queue.lastCheck = { changes, others: result.others, again: result.again }
    return result
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
    // The next reader checks itself, even if this check fails.
    queue.end = turn.catch(() => {})
    try {
      return await turn
    } finally {
      queue.length--
    }
  }

  return {
    /** Checks repeatedly, one caller after the other, and only when a check can find something. */
    inTurn<T>(who: CheckRequest, check: () => Promise<InboxCheck<T>>): () => Promise<CheckResult<T>> {
      // The first check finds messages from before the wait.
      let isFirst = true
      return () => {
        const mayRest = !isFirst
        isFirst = false
        const queue = queueOf(who.workspaceId)
        return inQueue(queue, () => take(queue, who, check, mayRest))
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
  /** Called now and then while waiting: many clients cancel a call without progress. */
  readonly onWaiting?: (() => void) | undefined
}

/** What a check found, or when to check again without a change. */
export type CheckResult<T> = { readonly found: T } | { readonly again?: number | undefined }

/** Polling interval while changes of other processes are not received. */
const POLL_MS = 1_000
const PROGRESS_MS = 15_000

/**
 * Checks until something is found, the time is over, the signal aborts or everything stops. A change between a check and the
 * following wait is not missed.
 */
export async function waitUntilFound<T>(
  { clock, watchers, news }: WaitDeps,
  { workspaceId, waitMs, signal, onWaiting }: WaitOptions,
  check: () => Promise<CheckResult<T>>,
): Promise<T | undefined> {
  const until = clock.now() + waitMs
  let progressAt = onWaiting ? clock.now() + PROGRESS_MS : until
  const bell = createBell()
  const leave = watchers.watch(workspaceId, bell.ring)
  signal?.addEventListener('abort', bell.ring)
  try {
    for (;;) {
      bell.reset()
      const seen = await check()
      if ('found' in seen) return seen.found
      const left = until - clock.now()
      if (left <= 0 || signal?.aborted || watchers.isStopped()) return undefined
      const next = Math.min(until, progressAt, seen.again ?? until) - clock.now()
      const soonest = news?.isConnected() === false ? Math.min(POLL_MS, next) : next
      const cancel = clock.after(Math.max(1, soonest), bell.ring)
      await bell.rung()
      cancel()
      if (signal?.aborted) return undefined
      if (clock.now() < progressAt || clock.now() >= until) continue
      onWaiting?.()
      progressAt = clock.now() + PROGRESS_MS
    }
  } finally {
    leave()
    signal?.removeEventListener('abort', bell.ring)
  }
}

/** Remembers a wake-up until a reader waits for it. */
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
