import { AppError } from '../../../contracts/index.ts'
import { type CancelSignal, type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import type { Lease } from '../../../core/store/index.ts'
import { type Connection, createSlowStart, probeResultOf, type TakeOptions } from './connection.ts'
import { type ConnectionState, SCHEDULED } from './connection-state-machine.ts'

interface SingleConnectionDeps {
  readonly lease: Lease
  readonly clock: Clock
  readonly dependency: string
  readonly target: object
  create(): Connection
  onChange(): void
}

/** A connection that exists only while this process holds the lease. A request takes the lease if it is free. */
export function createSingleConnection(deps: SingleConnectionDeps): Connection {
  const { lease, clock, dependency, target, create, onChange } = deps
  let inner: Connection | undefined
  /** The end of the last connection; no new one is made before. */
  let ending: Promise<void> | undefined
  let isScheduled = false
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

  function ended(): void {
    ending = undefined
    if (isStarted) current()?.start()
    if (stopped === undefined) onChange()
  }

  /** Waiting callers go to the connection that replaces this one, if there is one. */
  function wakeWaiters(reason: string): void {
    stopped = reason
    for (const wake of [...waiters]) wake()
  }

  function acquireLease(): void {
    isStarted = true
    // Waiting callers check the result.
    void lease.acquire()
  }

  function state(): ConnectionState {
    if (inner) return inner.state()
    if (stopped !== undefined) return { kind: 'stopped', reason: stopped, since }
    return { ...disconnectedState(lease, { isScheduled, isStarted, isEnding: ending !== undefined }), since }
  }

  async function takeWithLease({ budgetMs, signal }: TakeOptions): Promise<Connection> {
    if (stopped === undefined)
      await waitUpTo(Promise.all([lease.acquire(), ending]), { clock, ms: budgetMs, signal, waiters })
    throwIfCancelled(signal)
    const found = current()
    if (found) return found
    const { reason } = disconnectedState(lease, { isScheduled, isStarted: true, isEnding: ending !== undefined })
    const message = `"${dependency}" cannot be reached: ${stopped ?? reason}`
    throw new AppError('DEPENDENCY_UNAVAILABLE', message, { details: { dependency } })
  }

  return {
    get errorScope() {
      return inner?.errorScope ?? { dependency }
    },
    target,
    slowStart: createSlowStart(),
    state,
    session: () => inner?.session(),
    hasWaiters: () => waiters.size > 0 || (inner?.hasWaiters() ?? false),
    restarts: () => inner?.restarts() ?? 0,
    lastError: () => inner?.lastError(),
    schedule() {
      isScheduled = true
      current()?.schedule()
      onChange()
    },
    start() {
      acquireLease()
      current()?.start()
    },
    takeNow: () => current()?.takeNow(),
    async take(options) {
      const begunAt = clock.now()
      const found = current() ?? (await takeWithLease(options))
      // Waiting for the lease, and for the end of the last connection, took part of the caller's time.
      const budgetMs = Math.max(0, options.budgetMs - (clock.now() - begunAt))
      return found.take({ ...options, budgetMs })
    },
    async probe(signal, options) {
      if (!inner && lease.status().kind === 'unknown') await lease.look()
      const found = current()
      if (found) return found.probe(signal, options)
      return probeResultOf(state(), clock.now())
    },
    verifyAlive: async session => inner?.verifyAlive(session),
    noteRejected: (what, reason) => inner?.noteRejected(what, reason),
    noteFailure: async (session, failure) => inner?.noteFailure(session, failure),
    noteSuccess: what => inner?.noteSuccess(what),
    async restart() {
      acquireLease()
      await current()?.restart()
    },
    busy: () => inner?.busy() ?? 0,
    async drain(reason) {
      wakeWaiters(reason)
      // A loss of the lease is noticed meanwhile, and ends everything. The next connection waits for this end.
      await inner?.drain(reason)
      await ending
      stopFollowing()
    },
    async stop(reason) {
      wakeWaiters(reason)
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

interface LeaseProgress {
  readonly isScheduled: boolean
  readonly isStarted: boolean
  readonly isEnding: boolean
}

function disconnectedState(
  lease: Lease,
  { isScheduled, isStarted, isEnding }: LeaseProgress,
): Pick<ConnectionState, 'kind' | 'reason' | 'isScheduled'> {
  const standing = lease.status()
  if (standing.kind === 'taken') {
    const { host, holder } = standing.by
    return { kind: 'elsewhere', reason: `It runs on one node at a time, and now on "${host}" (${holder}).` }
  }
  if (isEnding) return ENDING
  if (isStarted && standing.kind === 'inUse') return IN_USE
  if (isStarted && standing.kind !== 'held')
    return { kind: 'starting', reason: 'It runs on one node at a time; which one is being found out.' }
  if (isScheduled && !isStarted) return { kind: 'starting', reason: SCHEDULED, isScheduled }
  return { kind: 'idle', reason: 'It starts when it is needed.' }
}

interface Limits {
  readonly clock: Clock
  readonly ms: number
  readonly signal: CancelSignal
  readonly waiters: Set<() => void>
}

function waitUpTo(work: Promise<unknown>, { clock, ms, signal, waiters }: Limits): Promise<void> {
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
