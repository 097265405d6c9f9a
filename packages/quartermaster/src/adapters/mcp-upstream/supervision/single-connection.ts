import { AppError } from '../../../contracts/index.ts'
import { type CancelSignal, type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import type { Lease } from '../../../core/store/index.ts'
import { pause } from '../pausing.ts'
import { type Connection, type TakeOptions, verdictOf } from './connection.ts'
import type { ConnectionState } from './connection-state.ts'
import { ANNOUNCED } from './life.ts'

export interface SingleConnectionDeps {
  /** Only its holder connects. */
  readonly lease: Lease
  readonly clock: Clock
  /** The dependency this is, for errors. */
  readonly dependency: string
  /** Makes one that is not started yet. */
  create(): Connection
  onChange(): void
}

/** A connection that is there only while this process holds the lease. Whoever needs it while nobody has the lease takes it. */
export function createSingleConnection(deps: SingleConnectionDeps): Connection {
  const { lease, clock, dependency, create, onChange } = deps
  let inner: Connection | undefined
  /** There is none while the last one has not ended. */
  let ending: Promise<void> | undefined
  let isAnnounced = false
  let isStarted = false
  let stopped: string | undefined
  let since = clock.now()
  const stopFollowing = lease.onChange(() => {
    since = clock.now()
    if (lease.standing().kind !== 'held') end('Another node runs it now.')
    else if (isStarted) current()?.start()
    onChange()
  })

  function current(): Connection | undefined {
    if (stopped !== undefined || ending || lease.standing().kind !== 'held') return undefined
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

  function want(): void {
    isStarted = true
    // Whoever waits looks at what came of it.
    void lease.want()
  }

  function state(): ConnectionState {
    if (inner) return inner.state()
    if (stopped !== undefined) return { kind: 'stopped', reason: stopped, since }
    return { ...absence(lease, { isAnnounced, isStarted, isEnding: ending !== undefined }), since }
  }

  async function taken({ budgetMs, signal }: TakeOptions): Promise<Connection> {
    const isThere = Promise.all([lease.want(), ending])
    await within(isThere, { clock, ms: budgetMs, signal })
    throwIfCancelled(signal)
    const found = current()
    if (found) return found
    const message = `"${dependency}" cannot be reached: ${stopped ?? state().reason}`
    throw new AppError('DEPENDENCY_UNAVAILABLE', message, { details: { dependency } })
  }

  return {
    get concerned() {
      return inner?.concerned ?? { dependency }
    },
    state,
    session: () => inner?.session(),
    isAwaited: () => inner?.isAwaited() ?? false,
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
      return (current() ?? (await taken(options))).take(options)
    },
    async look(signal, options) {
      if (!inner && lease.standing().kind === 'unknown') await lease.look()
      const found = current()
      if (found) return found.look(signal, options)
      return verdictOf(state(), clock.now())
    },
    suspect: async session => inner?.suspect(session),
    refused: (what, reason) => inner?.refused(what, reason),
    answered: what => inner?.answered(what),
    async restart() {
      want()
      await current()?.restart()
    },
    busy: () => inner?.busy() ?? 0,
    async leave(reason) {
      stopped = reason
      // The lease is heard of meanwhile: whoever has lost it runs nothing. The next one waits for this one's end.
      await pause(LEAVE_MS, { clock, until: Promise.all([ending, inner?.leave(reason)]) })
      await inner?.stop(reason)
      await ending
      stopFollowing()
    },
    async stop(reason) {
      stopped = reason
      stopFollowing()
      end(reason)
      await ending
    },
  }
}

/** How long one may end what is under way while all others wait for the next. */
const LEAVE_MS = 30_000

const ENDING = { kind: 'starting', reason: 'It runs once, and the one before has not ended yet.' } as const

interface Wish {
  readonly isAnnounced: boolean
  readonly isStarted: boolean
  readonly isEnding: boolean
}

/** Where it stands while it is not connected here. */
function absence(
  lease: Lease,
  { isAnnounced, isStarted, isEnding }: Wish,
): Pick<ConnectionState, 'kind' | 'reason' | 'isAnnounced'> {
  const standing = lease.standing()
  if (standing.kind === 'taken') {
    const { host, holder } = standing.by
    return { kind: 'elsewhere', reason: `It runs on one node at a time, and now on "${host}" (${holder}).` }
  }
  if (isEnding) return ENDING
  if (isStarted && standing.kind !== 'held')
    return { kind: 'starting', reason: 'It runs on one node at a time; which one is being found out.' }
  if (isAnnounced && !isStarted) return { kind: 'starting', reason: ANNOUNCED, isAnnounced }
  return { kind: 'idle', reason: 'It starts when it is needed.' }
}

interface Limits {
  readonly clock: Clock
  readonly ms: number
  readonly signal: CancelSignal
}

function within(work: Promise<unknown>, { clock, ms, signal }: Limits): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(ms, end)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    else void work.then(end)
  })
}
