import { AppError, isAppError, messageOf } from '../../contracts/index.ts'
import { closed, overloaded } from './errors.ts'
import type { Link } from './link.ts'

/** Queued work with a caller that waits for it. */
export interface Waiting<W, A> {
  readonly work: W
  /** Time after which waiting for a connection ends. */
  readonly until: number
  resolve(answer: A): void
  reject(error: AppError): void
}

/** Connections that take turns at what was asked for. */
export interface ConnectionQueue<W, A> {
  ask(work: W): Promise<A>
  /** Requests that have no answer yet. */
  waiting(): number
  /** Connections that were lost and replaced. */
  restarts(): number
  /** From now on all waiting for a connection ends after that long. */
  hurry(withinMs: number): void
  /** Refuses what comes, answers what was asked before, and lets go of the connections. */
  close(): Promise<void>
}

interface ConnectionQueueOptions<W, A> {
  /** Connections at most. */
  readonly most: number
  /** How many requests a connection takes at once. */
  readonly largest: number
  readonly mostWaiting: number
  /** How long a request waits for a connection. */
  readonly patienceMs: number
  /** One that is there already. */
  readonly first?: Link
  /** Connects for as long as it may. */
  open(mayGoOn: (error: AppError) => boolean): Promise<Link>
  /** Settles the taken work, or gives back what was not begun. */
  serve(link: Link, taken: readonly Waiting<W, A>[]): Promise<readonly Waiting<W, A>[]>
}

/** Connects when there is something to do, and again when a connection is lost. Work that was not begun goes to the next one. */
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
    // Others that ask in the same turn of the event loop are served with it.
    queueMicrotask(() => {
      isScheduled = false
      for (let needed = queue.length; needed > 0 && begin(); needed -= largest);
    })
  }

  /** Puts one more connection to work, if there is one or may be one. */
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
      // The callers that waited too long were told, and none is left. Anything else is a bug, which waiting would not fix.
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

  /** An idle connection keeps no process alive. */
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
