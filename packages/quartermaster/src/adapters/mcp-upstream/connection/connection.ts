import { AppError } from '../../../contracts/index.ts'
import type { ProbeVerdict } from '../../../core/catalogue/index.ts'
import { type CancelSignal, type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import { pause, withTimeLimit } from '../peer/abort.ts'
import { forPeople } from '../peer/channel.ts'
import type { Session } from '../peer/session.ts'
import { createRunner, type Runner, type RunnerDeps } from './connection-runner.ts'
import { type ConnectionState, stateOf } from './connection-state-machine.ts'
import { createFailures, type Failure } from './failures.ts'
import { createHealthPing, HANG_MS, type HealthPing } from './health-ping.ts'
import { type ErrorScope, whenToTryAgain } from './upstream-errors.ts'

export interface Connection {
  readonly errorScope: ErrorScope
  /** The same object as long as the entry reaches the server in the same way. */
  readonly target: object
  state(): ConnectionState
  session(): Session | undefined
  hasWaiters(): boolean
  /** Restarts because the server crashed, or did not come up. */
  readonly restarts: () => number
  readonly lastError: () => { message: string; at: number; isStanding?: true | undefined } | undefined
  /** Shown as starting until its turn comes. A request that needs the connection starts it at once. */
  schedule(): void
  start(): void
  /** For requests that were in flight when the connection broke. */
  readonly slowStart: SlowStart
  /** The session, if the connection is up and there is no reason to doubt that the server answers. */
  takeNow(): Session | undefined
  /** Waits for a session within the budget. Throws `DEPENDENCY_UNAVAILABLE`. */
  take(options: TakeOptions): Promise<Session>
  /**
   * Checks whether the server works. A connection that is down is started for a requested check, and otherwise left
   * to its pauses.
   */
  probe(signal: AbortSignal, options?: ProbeOptions): Promise<ProbeVerdict>
  /** A failure may mean that the server hangs or is gone. Resolves when that is known. */
  verifyAlive(session: Session): Promise<void>
  /** The server answers, and refused a request for lack of access. Reported to people. */
  noteRejected(what: string, reason: string): void
  /**
   * A request failed finally, although the server may be there: reported to people. Where nothing succeeds any more
   * the server is restarted, once. Resolves when that is decided.
   */
  noteFailure(session: Session, failure: Failure): Promise<void>
  noteSuccess(what: string): void
  /** Starts again, whatever the backoff. */
  restart(): Promise<void>
  busy(): number
  /**
   * Begins nothing new and tells waiting callers why. Resolves when open requests have ended, and the connection with
   * them.
   */
  drain(reason: string): Promise<void>
  /** Ends permanently and at once. Waiting callers and open requests are told why. */
  stop(reason: string): Promise<void>
}

export interface TakeOptions {
  readonly budgetMs: number
  readonly signal: CancelSignal
}

export interface ProbeOptions {
  readonly isRequested?: boolean | undefined
  readonly isAwaited?: boolean | undefined
}

export interface ConnectionDeps extends RunnerDeps {
  /** The agent that owns the connection, unless it is shared. */
  readonly agent?: string | undefined
  readonly upstream: string
  readonly dependency: string
  readonly target: object
  /** Unused for so long, the connection is ended. */
  readonly idleMs: number | undefined
  /** Whether a subscriber waits for notifications although no request is open. */
  hasSubscribers(): boolean
  callMs(): number
  /** Called once `session()` answers it: events that came in while connecting can be handled. */
  onUp(session: Session): void
}

const SOONEST_IDLE_MS = 1_000
/** A server heard from so recently needs no check. */
const FRESH_MS = 1_000
/** A ping has its result by then, unless the server was busy. */
const PING_WAIT_MS = 2 * HANG_MS
/** Time that a call may wait for a person, besides its own. */
const PERSON_WAIT_MS = 10 * 60_000
const DRAIN_POLL_MS = 50

export function createConnection(deps: ConnectionDeps): Connection {
  const { clock, idleMs, callMs, hasSubscribers } = deps
  const rejectedRequests = createRejectedRequests(clock, deps.agent)
  const failures = createFailures(deps)
  const onUp = (session: Session) => {
    // A new session may use another key.
    rejectedRequests.clear()
    failures.onConnected()
    healthPing.onConnected(session)
    if (idleMs !== undefined) watchIdleness(session, { runner, clock, idleMs, isWatched: hasSubscribers })
    deps.onUp(session)
  }
  const runner: Runner = createRunner({ ...deps, onUp })
  const session = () => runner.machine().session
  let waiters = 0
  const healthPing = createHealthPing({
    clock,
    callMs,
    current: session,
    later: runner.later,
    onHang: runner.onSessionEnded,
  })

  function takeNow(): Session | undefined {
    const { session: taken, draining } = runner.machine()
    return taken && draining === undefined && healthPing.tryWatchBusy(taken) ? taken : undefined
  }

  async function takeWaiting(options: TakeOptions): Promise<Session> {
    waiters++
    try {
      const silent = session()
      const budgetMs = silent ? await pingFirst(silent, options) : options.budgetMs
      const taken = await waitForSession(runner, deps, { ...options, budgetMs })
      healthPing.watchBusy(taken)
      return taken
    } finally {
      waiters--
    }
  }

  /** A request that was not sent yet can still use the next connection. Answers how much of the budget is left. */
  async function pingFirst(silent: Session, { budgetMs, signal }: TakeOptions): Promise<number> {
    // A caller that cannot wait takes the session as it is.
    if (budgetMs <= 0) return budgetMs
    const begunAt = clock.now()
    let isKnown = false
    const until = healthPing.verifyAlive(silent).then(() => void (isKnown = true))
    await pause(Math.min(PING_WAIT_MS, budgetMs), { clock, signal, until })
    throwIfCancelled(signal)
    const left = Math.max(0, budgetMs - (clock.now() - begunAt))
    if (!isKnown && left === 0) throw unreachable(deps, { reason: 'It has not answered yet whether it is there.' })
    return left
  }

  /** A server that does not answer at all is reported as crashed. */
  async function failed(at: Session, failure: Failure): Promise<void> {
    const note = failures.recorder(failure)
    if (!HAS_ANSWERED.has(failure.kind)) await healthPing.verifyAlive(at)
    if (session() !== at) return
    note()
    const reason = failures.reasonToRestart()
    if (!reason || !isRenewable(at) || runner.machine().draining !== undefined) return
    failures.onRestart()
    runner.onSessionEnded(at, { kind: 'failing', ...reason })
  }

  return {
    errorScope: errorScopeOf(deps),
    target: deps.target,
    slowStart: createSlowStart(),
    state: () => stateOf(runner.machine()),
    session,
    hasWaiters: () => waiters > 0,
    restarts: () => runner.machine().restarts,
    lastError() {
      const { lastError } = runner.machine()
      const standing = later(rejectedRequests.last(), failures.last())
      if (standing && standing.at >= (lastError?.at ?? 0)) return standing
      const whose = deps.agent === undefined ? '' : `For "${deps.agent}": `
      return lastError && { message: `${whose}${forPeople(lastError)}`, at: lastError.at }
    },
    schedule: () => runner.dispatch({ what: 'scheduled' }),
    start: () => runner.dispatch({ what: 'requested' }),
    takeNow,
    async take(options) {
      const { draining } = runner.machine()
      if (draining !== undefined) throw unreachable(deps, { kind: 'stopped', reason: draining })
      return takeNow() ?? takeWaiting(options)
    },
    async probe(signal, { isRequested = false, isAwaited = false } = {}) {
      if (isRequested) await startAndProbe(runner, signal)
      if (isAwaited) runner.dispatch({ what: 'requested' })
      return probeConnection({ runner, healthPing, clock }, signal)
    },
    verifyAlive: healthPing.verifyAlive,
    noteRejected: rejectedRequests.add,
    noteFailure: failed,
    noteSuccess(what) {
      rejectedRequests.answered(what)
      failures.onSuccess()
      // Nearly every call succeeds, and few have anything to report.
      if (runner.machine().crashesSinceServed > 0) runner.dispatch({ what: 'served' })
    },
    async restart() {
      failures.onManualRestart()
      runner.dispatch({ what: 'restart' })
    },
    busy: runner.busy,
    async drain(reason) {
      runner.dispatch({ what: 'drain', reason })
      const until = clock.now() + callMs() + PERSON_WAIT_MS
      while (runner.busy() > 0 && clock.now() < until) await pause(DRAIN_POLL_MS, { clock })
      await runner.stop(reason)
    },
    stop: runner.stop,
  }
}

const HAS_ANSWERED: ReadonlySet<Failure['kind']> = new Set(['unreadable', 'busy'])

/**
 * Whether a restart helps and ends nothing that may still succeed. A program may be working on cancelled requests.
 * Over HTTP only a legacy session can be renewed; the old session and its work are abandoned.
 */
function isRenewable(session: Session): boolean {
  return session.pids().length > 0 ? session.isIdle() : session.busy() === 0 && session.facts.era === 'legacy'
}

function later<T extends { readonly at: number }>(one: T | undefined, other: T | undefined): T | undefined {
  return one && other ? (one.at > other.at ? one : other) : (one ?? other)
}

interface Idleness {
  readonly runner: Runner
  readonly clock: Clock
  readonly idleMs: number
  isWatched(): boolean
}

function watchIdleness(session: Session, idleness: Idleness, inMs = idleness.idleMs): void {
  const { runner, clock, idleMs, isWatched } = idleness
  runner.later(inMs, () => {
    const left = session.lastUsedAt() + idleMs - clock.now()
    if (!session.isIdle() || isWatched() || left > 0) watchIdleness(session, idleness, Math.max(left, SOONEST_IDLE_MS))
    else runner.dispatch({ what: 'idleTimeout', session })
  })
}

async function waitForSession(
  runner: Runner,
  deps: ConnectionDeps,
  { budgetMs, signal }: TakeOptions,
): Promise<Session> {
  const { clock } = deps
  if (budgetMs > 0) await wake(runner, signal)
  const until = clock.now() + budgetMs
  const found = await withTimeLimit(budgetMs, { clock, signal, reason: 'It took too long.' }, async either => {
    for (;;) {
      runner.dispatch({ what: 'requested' })
      const { kind, session, nextStartAt = 0 } = runner.machine()
      const isTooLong = stateOf(runner.machine()).isBusy && nextStartAt > until
      const isHopeless = kind === 'stopped' || kind === 'needsLogin' || isTooLong
      if (session || isHopeless || either.aborted || budgetMs <= 0) return session
      await runner.stateChanged(either)
    }
  })
  throwIfCancelled(signal)
  if (found) return found
  throw unreachable(deps, stateOf(runner.machine()))
}

/** Waking a sleeping server may take as long as a start, and takes nothing from the budget. */
async function wake(runner: Runner, signal: CancelSignal): Promise<void> {
  runner.dispatch({ what: 'requested' })
  while (stateOf(runner.machine()).isWaking && !signal.aborted) await runner.stateChanged(signal)
}

/** One agent's refused key says nothing about the server; otherwise all agents would wait for a check. */
function errorScopeOf({ agent, upstream, dependency }: ConnectionDeps): ErrorScope {
  return agent === undefined ? { dependency } : { upstream, agent }
}

type Unreachable = Pick<ConnectionState, 'reason'> & Partial<ConnectionState>

function unreachable(deps: ConnectionDeps, { kind, reason, isBusy, nextStartAt = 0 }: Unreachable): AppError {
  const whom = deps.agent === undefined ? '' : ` for "${deps.agent}"`
  const concerned = kind === 'stopped' ? { upstream: deps.upstream } : errorScopeOf(deps)
  const retryAfterMs = Math.max(0, Math.round(nextStartAt - deps.clock.now()))
  const why = isBusy ? `${reason} ${whenToTryAgain(retryAfterMs)}` : reason
  return new AppError('DEPENDENCY_UNAVAILABLE', `"${deps.dependency}" cannot be reached${whom}: ${why}`, {
    details: { ...concerned, ...(isBusy && { retryAfterMs }) },
  })
}

interface Looking {
  readonly runner: Runner
  readonly healthPing: HealthPing
  readonly clock: Clock
}

/** Access may have been granted meanwhile, and only a start finds out. */
async function startAndProbe(runner: Runner, signal: AbortSignal): Promise<void> {
  const { kind } = runner.machine()
  runner.dispatch({ what: 'probed' })
  if (kind !== 'needsLogin') return
  while (runner.machine().kind === 'starting' && !signal.aborted) await runner.stateChanged(signal)
}

async function probeConnection({ runner, healthPing, clock }: Looking, signal: AbortSignal): Promise<ProbeVerdict> {
  const { session } = runner.machine()
  const verdict = () => probeResultOf(stateOf(runner.machine()), clock.now())
  if (!session || clock.now() - session.lastHeardAt() < FRESH_MS) return verdict()
  const found = await healthPing.probe(session, signal)
  if (found === 'suspected') throw new Error('It did not answer.')
  const isSilent = found !== 'answers' && runner.machine().session === session
  return isSilent ? { up: true, reason: SILENCE[found] } : verdict()
}

const SILENCE = { atWork: 'It is at work.', excused: 'It did not answer, which need not mean anything.' } as const

/** A running server that forgot a session accepts another within this. */
const REOPEN_WITHIN_MS = 2_000

/** The state of a connection as a probe result. */
export function probeResultOf(state: ConnectionState, now: number): ProbeVerdict {
  const { kind, reason, since, isForgotten, isWaking, isScheduled, isBusy, downSince } = state
  const isLate = isForgotten && kind === 'starting' && now - since >= REOPEN_WITHIN_MS
  if (isLate) return { up: false, recovering: true, reason: 'It has forgotten the session, and opens no other one.' }
  if (kind === 'up' || kind === 'idle' || isScheduled || isForgotten) return { up: true, reason }
  const isComing = kind === 'starting' || isBusy
  const isUnharmed = kind === 'stopped' || isWaking || (isBusy && downSince === undefined)
  const isFinal = kind === 'needsLogin'
  return {
    up: false,
    reason,
    ...(isComing && { recovering: true }),
    ...(isUnharmed && { pending: true }),
    ...(isFinal && { final: true }),
  }
}

/**
 * Requests refused by a server that answers others. A note stands until the same request succeeds, or the server is
 * reconnected.
 */
interface RejectedRequests {
  add(what: string, reason: string): void
  answered(what: string): void
  last(): { readonly message: string; readonly at: number; readonly isStanding: true } | undefined
  clear(): void
}

/** People see the last one; the others are kept to be shown once it is over. */
const MOST = 16

/** For one agent, where the connection is its own. */
function createRejectedRequests(clock: Clock, agent: string | undefined): RejectedRequests {
  const noted = new Map<string, { message: string; at: number; isStanding: true }>()
  const whose = agent === undefined ? '' : ` for "${agent}"`
  return {
    add(what, reason) {
      noted.delete(what)
      const message = `It answers, but refused ${what}${whose}: ${reason}`
      noted.set(what, { message, at: Math.round(clock.now()), isStanding: true })
      const [oldest] = noted.keys()
      if (noted.size > MOST && oldest !== undefined) noted.delete(oldest)
    },
    answered(what) {
      // This is on the path of every call.
      if (noted.size > 0) noted.delete(what)
    },
    last: () => [...noted.values()].at(-1),
    clear: () => noted.clear(),
  }
}

/**
 * Retries requests that were in flight when a connection crashed, one at a time first, doubling after each success,
 * so that a poison request is isolated.
 */
export interface SlowStart {
  /** Resolves when it is the request's turn; with nothing if it was cancelled before. */
  enter(signal: CancelSignal): Promise<Turn | undefined>
}

export interface Turn {
  /** Whether no other request ran during this turn. */
  isAlone(): boolean
  /** Later results are ignored. */
  end(how: TurnEnd): void
}

/** `neither` says nothing about the requests that wait. */
export type TurnEnd = 'answered' | 'broken' | 'neither'

export function createSlowStart(): SlowStart {
  const waiting = new Set<() => void>()
  const running = new Set<{ isAlone: boolean }>()
  let width = 1

  function startTurn(): Turn {
    const one = { isAlone: running.size === 0 }
    for (const other of running) other.isAlone = false
    running.add(one)
    return {
      isAlone: () => one.isAlone,
      end(how) {
        if (!running.delete(one)) return
        if (how === 'broken') width = 1
        if (how === 'answered') width *= 2
        admit()
      },
    }
  }

  function admit(): void {
    for (const admitThis of waiting) if (running.size < width) admitThis()
    if (running.size === 0) width = 1
  }

  return {
    async enter(signal) {
      if (signal.aborted) return undefined
      if (running.size < width) return startTurn()
      return new Promise(resolve => {
        const stopWaiting = () => {
          waiting.delete(go)
          signal.removeEventListener('abort', abandon)
        }
        const go = () => {
          stopWaiting()
          resolve(startTurn())
        }
        const abandon = () => {
          stopWaiting()
          resolve(undefined)
        }
        waiting.add(go)
        signal.addEventListener('abort', abandon, { once: true })
      })
    },
  }
}
