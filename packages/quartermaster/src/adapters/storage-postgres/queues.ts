import { AppError, isAppError, messageOf } from '../../contracts/index.ts'
import type { Group, SqlRow, Statement, StatementsOutcome } from '../storage-sql/index.ts'
import type { CommitGroup, CommitWork } from './committer.ts'
import type { Connect, Connected } from './connector.ts'
import {
  closed,
  isPassing,
  isStatementFault,
  overloaded,
  toFault,
  unanswered,
  undone,
  unknownOutcome,
} from './errors.ts'
import type { Link } from './link.ts'

type CommitQueue = ConnectionQueue<CommitWork, StatementsOutcome>
export type ReadQueue = ConnectionQueue<Statement, readonly SqlRow[]>

interface QueueOptions {
  readonly connect: Connect
  readonly mostWaiting: number
  readonly patienceMs: number
  /** The error for a read without an answer for too long. */
  readonly away: (error: unknown) => AppError
}

/** With more, the first of a group would wait too long for the last. */
const LARGEST_GROUP = 512
/** A few are as fast as many: hot data is read from memory, and the server has other clients. */
const MOST_READERS = 4
const STATEMENT_MS = 30_000

interface CommitQueueParts {
  /** The connection that migrated the database. */
  readonly first: Link
  readonly commitGroup: CommitGroup
  onGroup(group: Group): void
}

/** The single connection that commits. */
export function createCommitQueue(
  { connect, mostWaiting, patienceMs }: QueueOptions,
  { first, commitGroup, onGroup }: CommitQueueParts,
): CommitQueue {
  return createConnectionQueue({
    most: 1,
    largest: LARGEST_GROUP,
    mostWaiting,
    patienceMs,
    first,
    open: mayGoOn => connect({ prepare: limited, mayGoOn, isFirst: false }).then(linkOf),
    async serve(link, taken) {
      const startedAt = performance.now()
      const ends = await commitGroup(
        link,
        taken.map(({ work }) => work),
      )
      onGroup({ commits: taken.length, ms: performance.now() - startedAt })
      for (const [i, waiting] of taken.entries()) {
        const end = ends[i]
        if (end && 'outcome' in end) waiting.resolve(end.outcome)
        else if (end) waiting.reject(end.isUnknown ? unknownOutcome(end.fault) : undone(end.fault))
      }
      // A server that cannot write any more is connected to again.
      if (ends.some(end => 'fault' in end && isPassing(end.fault))) await link.close()
      return []
    },
  })
}

/** Connections that only read. A read without an answer is repeated: it changed nothing. */
export function createReadQueue({ connect, mostWaiting, patienceMs, away }: QueueOptions): ReadQueue {
  const nameOf = createNames()

  async function serveOne(link: Link, waiting: Waiting<Statement, readonly SqlRow[]>): Promise<boolean> {
    const { sql, parameters } = waiting.work
    try {
      waiting.resolve(await link.read({ sql, parameters, ...nameOf(sql) }))
    } catch (error) {
      if (isStatementFault(error)) waiting.reject(unanswered(toFault(error)))
      else if (performance.now() < waiting.until) return false
      else waiting.reject(away(error))
    }
    return true
  }

  return createConnectionQueue({
    most: MOST_READERS,
    largest: 1,
    mostWaiting,
    patienceMs,
    open: mayGoOn => connect({ prepare: limited, mayGoOn, isFirst: false }).then(linkOf),
    async serve(link, taken) {
      const [first] = taken
      return !first || (await serveOne(link, first)) ? [] : [first]
    },
  })
}

/** The server aborts long statements, so that nothing blocks the queue forever. */
export const limited = ({ link }: Connected): Promise<void> => link.limit(STATEMENT_MS)

const linkOf = ({ link }: Connected): Link => link

const MOST_NAMES = 500

/** Prepares repeated statements under a name, up to a limit. */
function createNames(): (sql: string) => { name?: string } {
  const known = new Map<string, { name: string }>()
  return sql => {
    const found = known.get(sql)
    if (found || known.size >= MOST_NAMES) return found ?? {}
    const named = { name: `r${known.size}` }
    known.set(sql, named)
    return named
  }
}

export interface Waiting<W, A> {
  readonly work: W
  /** When waiting for a connection ends. */
  readonly until: number
  resolve(answer: A): void
  reject(error: AppError): void
}

/** A pool of connections that work through a queue. */
export interface ConnectionQueue<W, A> {
  ask(work: W): Promise<A>
  waiting(): number
  /** Connections that were lost and replaced. */
  restarts(): number
  /** From now on, waiting for a connection ends after this time. */
  hurry(withinMs: number): void
  /** Refuses new requests, finishes the queued ones, and closes the connections. */
  close(): Promise<void>
}

interface ConnectionQueueOptions<W, A> {
  readonly most: number
  /** Requests served by a connection at once. */
  readonly largest: number
  readonly mostWaiting: number
  readonly patienceMs: number
  /** A connection that is open already. */
  readonly first?: Link
  /** Connects, retrying while `mayGoOn` returns true. */
  open(mayGoOn: (error: AppError) => boolean): Promise<Link>
  /** Settles the work, or returns what was not started. */
  serve(link: Link, taken: readonly Waiting<W, A>[]): Promise<readonly Waiting<W, A>[]>
}

/** Connects on demand, and again when a connection is lost. Work that was not started goes to the next connection. */
export function createConnectionQueue<W, A>(options: ConnectionQueueOptions<W, A>): ConnectionQueue<W, A> {
  const { most, largest, mostWaiting, patienceMs, first: given, open, serve } = options
  const queue: Waiting<W, A>[] = []
  const idle: Link[] = given ? [given] : []
  let links = idle.length
  let inHand = 0
  let restarts = 0
  let isScheduled = false
  let latest = Number.POSITIVE_INFINITY
  let isClosed = false
  let ending: Promise<void> | undefined
  let onIdle: (() => void) | undefined
  given?.hold(false)

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    // Requests of the same event-loop turn are served together.
    queueMicrotask(() => {
      isScheduled = false
      for (let needed = queue.length; needed > 0 && begin(); needed -= largest);
    })
  }

  /** Starts one more connection, if there is one or may be one. */
  function begin(): boolean {
    const link = idle.pop()
    if (link === undefined && links >= most) return false
    if (link === undefined) links++
    void work(link)
    return true
  }

  async function work(first: Link | undefined): Promise<void> {
    let link = first
    while (queue.length > 0) {
      if (!link || link.isLost()) link = await replace(link)
      if (link && !link.isLost() && queue.length > 0) await serveNext(link)
    }
    if (link) rest(link)
    else links--
    if (queue.length === 0 && inHand === 0) onIdle?.()
  }

  async function replace(lost: Link | undefined): Promise<Link | undefined> {
    if (lost) restarts++
    try {
      return await open(mayGoOn)
    } catch (error) {
      // Requests that waited too long were rejected already. Anything but an AppError is a bug, which waiting would not fix.
      if (!isAppError(error)) giveUp(new AppError('INTERNAL', messageOf(error)), Number.POSITIVE_INFINITY)
      return undefined
    }
  }

  function mayGoOn(error: AppError): boolean {
    giveUp(error, performance.now())
    return queue.length > 0
  }

  function giveUp(error: AppError, now: number): void {
    for (const one of queue.splice(0)) {
      if (Math.min(one.until, latest) <= now) one.reject(error)
      else queue.push(one)
    }
  }

  async function serveNext(link: Link): Promise<void> {
    const taken = queue.splice(0, largest)
    inHand += taken.length
    link.hold(true)
    const notBegun = await serve(link, taken)
    inHand -= taken.length
    queue.unshift(...notBegun)
  }

  /** An idle connection does not keep the process alive. */
  function rest(link: Link): void {
    if (link.isLost()) {
      restarts++
      links--
      return
    }
    link.hold(false)
    if (isClosed) void link.close()
    else idle.push(link)
  }

  async function drainAndClose(): Promise<void> {
    if (queue.length > 0 || inHand > 0) await new Promise<void>(resolve => (onIdle = resolve))
    isClosed = true
    await Promise.all(idle.splice(0).map(link => link.close()))
  }

  return {
    ask(work) {
      if (ending) return Promise.reject(closed())
      if (queue.length >= mostWaiting) return Promise.reject(overloaded(queue.length))
      schedule()
      const until = performance.now() + patienceMs
      return new Promise((resolve, reject) => queue.push({ work, until, resolve, reject }))
    },
    waiting: () => queue.length + inHand,
    restarts: () => restarts,
    hurry(withinMs) {
      latest = Math.min(latest, performance.now() + withinMs)
    },
    close: () => (ending ??= drainAndClose()),
  }
}
