import { AppError } from '../../../contracts/index.ts'
import { type CancelSignal, type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import type { Lease } from '../../../core/store/index.ts'
import { type Connection, probeResultOf, type TakeOptions } from './connection.ts'
import { ANNOUNCED, type ConnectionState } from './connection-state-machine.ts'
import { createSlowStart } from './retry-slow-start.ts'

interface SingleConnectionDeps {
  /** Only its holder connects. */
  readonly lease: Lease
  readonly clock: Clock
  /** The dependency this is, for errors. */
  readonly dependency: string
  readonly target: object
  /** Makes one that is not started yet. */
  create(): Connection
  onChange(): void
}

/** A connection that exists only while this process holds the lease. A request takes the lease if it is free. */
export function createSingleConnection(deps: SingleConnectionDeps): Connection {
  const { lease, clock, dependency, target, create, onChange } = deps
  let inner: Connection | undefined
  /** No new one before the last has ended. */
  let ending: Promise<void> | undefined
  let isAnnounced = false
  let isStarted = false
  let stopped: string | undefined
  let since = clock.now()
  const waiters = new Set<() => void>()
  const stopFollowing = lease.onChange(() => {
    since = clock.now()
    if (lease.status().kind !== 'held') end('Another node runs it now.')
    else if (isStarted) current()?.start()
    onChange()
  })

  function current(): Connection | undefined {
    if (stopped !== undefined || ending || lease.status().kind !== 'held') return undefined
    inner ??= create()
    return inner
  }

  function end(reason: string): void {
    if (!inner) return
    ending = inner.stop(reason).then(ended, ended)
    inner = undefined
  }

  /** Meanwhile the lease may be back. */
  function ended(): void {
    ending = undefined
    if (isStarted) current()?.start()
    if (stopped === undefined) onChange()
  }

  /** Waiting callers go to the connection in its place, if there is one. */
  function over(reason: string): void {
    stopped = reason
    for (const wake of [...waiters]) wake()
  }

  function want(): void {
    isStarted = true
    // Waiting callers check the result.
    void lease.acquire()
  }

  function state(): ConnectionState {
    if (inner) return inner.state()
    if (stopped !== undefined) return { kind: 'stopped', reason: stopped, since }
    return { ...absence(lease, { isAnnounced, isStarted, isEnding: ending !== undefined }), since }
  }

  async function taken({ budgetMs, signal }: TakeOptions): Promise<Connection> {
    if (stopped === undefined)
      await within(Promise.all([lease.acquire(), ending]), { clock, ms: budgetMs, signal, waiters })
    throwIfCancelled(signal)
    const found = current()
    if (found) return found
    const { reason } = absence(lease, { isAnnounced, isStarted: true, isEnding: ending !== undefined })
    const message = `"${dependency}" cannot be reached: ${stopped ?? reason}`
    throw new AppError('DEPENDENCY_UNAVAILABLE', message, { details: { dependency } })
  }

  return {
    get concerned() {
      return inner?.concerned ?? { dependency }
    },
    target,
    slowStart: createSlowStart(),
    state,
    session: () => inner?.session(),
    isAwaited: () => waiters.size > 0 || (inner?.isAwaited() ?? false),
    restarts: () => inner?.restarts() ?? 0,
    lastError: () => inner?.lastError(),
    announce() {
      isAnnounced = true
      current()?.announce()
      onChange()
    },
    start() {
      want()
      current()?.start()
    },
    takeNow: () => current()?.takeNow(),
    async take(options) {
      const begunAt = clock.now()
      const found = current() ?? (await taken(options))
      // Waiting for the lease and for the end of the last connection took from the caller's time.
      const budgetMs = Math.max(0, options.budgetMs - (clock.now() - begunAt))
      return found.take({ ...options, budgetMs })
    },
    async look(signal, options) {
      if (!inner && lease.status().kind === 'unknown') await lease.look()
      const found = current()
      if (found) return found.look(signal, options)
      return probeResultOf(state(), clock.now())
    },
    suspect: async session => inner?.suspect(session),
    refused: (what, reason) => inner?.refused(what, reason),
    failed: async (session, failure) => inner?.failed(session, failure),
    answered: what => inner?.answered(what),
    async restart() {
      want()
      await current()?.restart()
    },
    busy: () => inner?.busy() ?? 0,
    async leave(reason) {
      over(reason)
      // The loss of the lease is noticed meanwhile, and ends everything. The next connection waits for this end.
      await inner?.leave(reason)
      await ending
      stopFollowing()
    },
    async stop(reason) {
      over(reason)
      stopFollowing()
      end(reason)
      await ending
    },
  }
}

const ENDING = { kind: 'starting', reason: 'It runs once, and the one before has not ended yet.' } as const
const IN_USE = {
  kind: 'starting',
  reason: 'It runs once, and starts when the calls of the one before have ended.',
} as const

interface Absence {
  readonly isAnnounced: boolean
  readonly isStarted: boolean
  readonly isEnding: boolean
}

/** The state while it is not connected here. */
function absence(
  lease: Lease,
  { isAnnounced, isStarted, isEnding }: Absence,
): Pick<ConnectionState, 'kind' | 'reason' | 'isAnnounced'> {
  const standing = lease.status()
  if (standing.kind === 'taken') {
    const { host, holder } = standing.by
    return { kind: 'elsewhere', reason: `It runs on one node at a time, and now on "${host}" (${holder}).` }
  }
  if (isEnding) return ENDING
  if (isStarted && standing.kind === 'inUse') return IN_USE
  if (isStarted && standing.kind !== 'held')
    return { kind: 'starting', reason: 'It runs on one node at a time; which one is being found out.' }
  if (isAnnounced && !isStarted) return { kind: 'starting', reason: ANNOUNCED, isAnnounced }
  return { kind: 'idle', reason: 'It starts when it is needed.' }
}

interface Limits {
  readonly clock: Clock
  readonly ms: number
  readonly signal: CancelSignal
  /** A caller that wakes these removes them, too. */
  readonly waiters: Set<() => void>
}

function within(work: Promise<unknown>, { clock, ms, signal, waiters }: Limits): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      cancel()
      waiters.delete(end)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(ms, end)
    waiters.add(end)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    else void work.then(end)
  })
}
