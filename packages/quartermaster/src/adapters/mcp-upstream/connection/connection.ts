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
import { createSlowStart, type SlowStart } from './retry-slow-start.ts'
import { type Concerned, whenToTryAgain } from './upstream-errors.ts'

export interface Connection {
  /** Whom an error about reaching it concerns. */
  readonly concerned: Concerned
  /** What it connects to: the same object as long as the entry reaches the server in the same way. */
  readonly target: object
  state(): ConnectionState
  session(): Session | undefined
  /** Whether a request waits for it to come up. */
  isAwaited(): boolean
  /** How often it was restarted because it fell, or did not come up. */
  readonly restarts: () => number
  readonly lastError: () => { message: string; at: number; isStanding?: true | undefined } | undefined
  /** It will be started soon. Until then it is shown as starting, and a request that needs it starts it at once. */
  announce(): void
  start(): void
  /** For requests during which it broke before. */
  readonly slowStart: SlowStart
  /** The session, if it is up and there is no reason to doubt that it answers. */
  takeNow(): Session | undefined
  /** The session, when there is one within the budget. Throws `DEPENDENCY_UNAVAILABLE`. */
  take(options: TakeOptions): Promise<Session>
  /**
   * Checks whether it works. A connection that is down is started for a requested check, and otherwise left to its
   * pauses.
   */
  look(signal: AbortSignal, options?: LookOptions): Promise<ProbeVerdict>
  /** A failure may mean that the server hangs or is gone. Resolves when that is known. */
  suspect(session: Session): Promise<void>
  /** It answers, and refused a request as it refuses callers without access. Reported to people. */
  refused(what: string, reason: string): void
  /**
   * A request failed for good, although the server may be there: reported to people. Where nothing succeeds any more it
   * is restarted, once. Resolves when that is decided.
   */
  failed(session: Session, failure: Failure): Promise<void>
  /** It accepted a request, which succeeded. */
  answered(what: string): void
  /** Ends it and starts again, whatever it waited for. */
  restart(): Promise<void>
  busy(): number
  /** Begins nothing new and tells waiting callers why. Resolves when open requests have ended, and it has. */
  leave(reason: string): Promise<void>
  /** Permanently and immediately. Waiting callers and open requests are told why. */
  stop(reason: string): Promise<void>
}

export interface TakeOptions {
  readonly budgetMs: number
  readonly signal: CancelSignal
}

export interface LookOptions {
  /** Whether a call or a person asked for it. */
  readonly isRequested?: boolean | undefined
  /** Whether calls wait for it to come back. */
  readonly isAwaited?: boolean | undefined
}

export interface ConnectionDeps extends RunnerDeps {
  /** The agent it belongs to, unless it is shared. */
  readonly agent?: string | undefined
  /** The upstream and the dependency, for errors. */
  readonly upstream: string
  readonly dependency: string
  readonly target: object
  /** Ended after being unused for so long. */
  readonly idleMs: number | undefined
  /** Whether a subscriber waits for notifications although no request is open. */
  isWatched(): boolean
  callMs(): number
  /** It is up and `session()` answers it: events that came in while it was opened can be handled. */
  onUp(session: Session): void
}

/** How often a busy connection is checked for idleness. */
const SOONEST_IDLE_MS = 1_000
/** A server heard from within this needs no check. */
const FRESH_MS = 1_000
/** The result is known by then, unless it was busy when it was asked. */
const MOST_ASKING_MS = 2 * HANG_MS
/** How long a call may wait for a person besides its own time. */
const MOST_ASKED_MS = 10 * 60_000
/** How often a connection that is being left is checked for open requests. */
const LEAVE_LOOK_MS = 50

export function createConnection(deps: ConnectionDeps): Connection {
  const { clock, idleMs, callMs, isWatched } = deps
  const refusals = createRejectedRequests(clock, deps.agent)
  const failures = createFailures(deps)
  const onUp = (session: Session) => {
    // A new session may use another key.
    refusals.clear()
    failures.clear()
    hangs.meet(session)
    if (idleMs !== undefined) watchIdleness(session, { runner, clock, idleMs, isWatched })
    deps.onUp(session)
  }
  const runner: Runner = createRunner({ ...deps, onUp })
  const session = () => runner.machine().session
  let waiters = 0
  const hangs = createHealthPing({ clock, callMs, current: session, later: runner.later, onHang: runner.fell })

  function takeNow(): Session | undefined {
    const { session: taken, leaving } = runner.machine()
    return taken && leaving === undefined && hangs.attendNow(taken) ? taken : undefined
  }

  async function awaited(options: TakeOptions): Promise<Session> {
    waiters++
    try {
      const silent = session()
      const budgetMs = silent ? await askFirst(silent, options) : options.budgetMs
      const taken = await waitFor(runner, deps, { ...options, budgetMs })
      hangs.attend(taken)
      return taken
    } finally {
      waiters--
    }
  }

  /** A request that was not sent yet can still use the next connection. Answers how much of the budget is left. */
  async function askFirst(silent: Session, { budgetMs, signal }: TakeOptions): Promise<number> {
    // A caller that cannot wait takes it as it is.
    if (budgetMs <= 0) return budgetMs
    const begunAt = clock.now()
    let isKnown = false
    const until = hangs.suspect(silent).then(() => void (isKnown = true))
    await pause(Math.min(MOST_ASKING_MS, budgetMs), { clock, signal, until })
    throwIfCancelled(signal)
    const left = Math.max(0, budgetMs - (clock.now() - begunAt))
    if (!isKnown && left === 0) throw unreachable(deps, { reason: 'It has not answered yet whether it is there.' })
    return left
  }

  /** A server that does not answer at all is reported as fallen. */
  async function failed(at: Session, failure: Failure): Promise<void> {
    const note = failures.noting(failure)
    if (!HAS_ANSWERED.has(failure.kind)) await hangs.suspect(at)
    if (session() !== at) return
    note()
    const reason = failures.reasonToRenew()
    if (!reason || !isRenewable(at) || runner.machine().leaving !== undefined) return
    failures.renewing()
    runner.fell(at, { kind: 'failing', ...reason })
  }

  return {
    concerned: concernedBy(deps),
    target: deps.target,
    slowStart: createSlowStart(),
    state: () => stateOf(runner.machine()),
    session,
    isAwaited: () => waiters > 0,
    restarts: () => runner.machine().restarts,
    lastError() {
      const { lastTrouble } = runner.machine()
      const standing = later(refusals.last(), failures.last())
      if (standing && standing.at >= (lastTrouble?.at ?? 0)) return standing
      const whose = deps.agent === undefined ? '' : `For "${deps.agent}": `
      return lastTrouble && { message: `${whose}${forPeople(lastTrouble)}`, at: lastTrouble.at }
    },
    announce: () => runner.tell({ what: 'announced' }),
    start: () => runner.tell({ what: 'wanted' }),
    takeNow,
    async take(options) {
      const { leaving } = runner.machine()
      if (leaving !== undefined) throw unreachable(deps, { kind: 'stopped', reason: leaving })
      return takeNow() ?? awaited(options)
    },
    async look(signal, { isRequested = false, isAwaited = false } = {}) {
      if (isRequested) await startAndLook(runner, signal)
      if (isAwaited) runner.tell({ what: 'wanted' })
      return look({ runner, hangs, clock }, signal)
    },
    suspect: hangs.suspect,
    refused: refusals.add,
    failed,
    answered(what) {
      refusals.answered(what)
      failures.answered()
      // Nearly every call is answered, and few have anything to report.
      if (runner.machine().inVain > 0) runner.tell({ what: 'served' })
    },
    async restart() {
      failures.restarted()
      runner.tell({ what: 'renewed' })
    },
    busy: runner.busy,
    async leave(reason) {
      runner.tell({ what: 'left', reason })
      const until = clock.now() + callMs() + MOST_ASKED_MS
      while (runner.busy() > 0 && clock.now() < until) await pause(LEAVE_LOOK_MS, { clock })
      await runner.stop(reason)
    },
    stop: runner.stop,
  }
}

/** Failures after which the server need not be pinged. */
const HAS_ANSWERED: ReadonlySet<Failure['kind']> = new Set(['unreadable', 'busy'])

/**
 * Whether a restart helps and ends nothing that may still succeed. A program may be working on cancelled requests. Over
 * HTTP only a session can be renewed, which the newer era does not have; the old session and its work are abandoned.
 */
function isRenewable(session: Session): boolean {
  return session.pids().length > 0 ? session.isAtRest() : session.busy() === 0 && session.facts.era === 'legacy'
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
    const left = session.usedAt() + idleMs - clock.now()
    if (!session.isAtRest() || isWatched() || left > 0)
      watchIdleness(session, idleness, Math.max(left, SOONEST_IDLE_MS))
    else runner.tell({ what: 'unused', session })
  })
}

async function waitFor(runner: Runner, deps: ConnectionDeps, { budgetMs, signal }: TakeOptions): Promise<Session> {
  const { clock } = deps
  if (budgetMs > 0) await woken(runner, signal)
  const until = clock.now() + budgetMs
  const found = await withTimeLimit(budgetMs, { clock, signal, reason: 'It took too long.' }, async either => {
    for (;;) {
      runner.tell({ what: 'wanted' })
      const { kind, session, nextStartAt = 0 } = runner.machine()
      const isTooLong = stateOf(runner.machine()).isBusy && nextStartAt > until
      const isHopeless = kind === 'stopped' || kind === 'needsLogin' || isTooLong
      if (session || isHopeless || either.aborted || budgetMs <= 0) return session
      await runner.moved(either)
    }
  })
  throwIfCancelled(signal)
  if (found) return found
  throw unreachable(deps, stateOf(runner.machine()))
}

/** Waking it is no restart: it may take as long as a start, and takes nothing from the budget. */
async function woken(runner: Runner, signal: CancelSignal): Promise<void> {
  runner.tell({ what: 'wanted' })
  while (stateOf(runner.machine()).isWaking && !signal.aborted) await runner.moved(signal)
}

/** One agent's refused key says nothing about the server; otherwise all agents would wait for a check. */
function concernedBy({ agent, upstream, dependency }: ConnectionDeps): Concerned {
  return agent === undefined ? { dependency } : { upstream, agent }
}

type Unreachable = Pick<ConnectionState, 'reason'> & Partial<ConnectionState>

function unreachable(deps: ConnectionDeps, { kind, reason, isBusy, nextStartAt = 0 }: Unreachable): AppError {
  const whom = deps.agent === undefined ? '' : ` for "${deps.agent}"`
  // Another connection may have replaced a stopped one.
  const concerned = kind === 'stopped' ? { upstream: deps.upstream } : concernedBy(deps)
  const retryAfterMs = Math.max(0, Math.round(nextStartAt - deps.clock.now()))
  const why = isBusy ? `${reason} ${whenToTryAgain(retryAfterMs)}` : reason
  return new AppError('DEPENDENCY_UNAVAILABLE', `"${deps.dependency}" cannot be reached${whom}: ${why}`, {
    details: { ...concerned, ...(isBusy && { retryAfterMs }) },
  })
}

interface Looking {
  readonly runner: Runner
  readonly hangs: HealthPing
  readonly clock: Clock
}

/** Access may have been granted meanwhile, and only a start finds out. */
async function startAndLook(runner: Runner, signal: AbortSignal): Promise<void> {
  const { kind } = runner.machine()
  runner.tell({ what: 'lookedAt' })
  if (kind !== 'needsLogin') return
  while (runner.machine().kind === 'starting' && !signal.aborted) await runner.moved(signal)
}

async function look({ runner, hangs, clock }: Looking, signal: AbortSignal): Promise<ProbeVerdict> {
  const { session } = runner.machine()
  const verdict = () => probeResultOf(stateOf(runner.machine()), clock.now())
  if (!session || clock.now() - session.heardAt() < FRESH_MS) return verdict()
  const found = await hangs.look(session, signal)
  if (found === 'suspected') throw new Error('It did not answer.')
  const isSilent = found !== 'answers' && runner.machine().session === session
  return isSilent ? { up: true, reason: SILENCE[found] } : verdict()
}

const SILENCE = { atWork: 'It is at work.', excused: 'It did not answer, which need not mean anything.' } as const

/** A running server that forgot a session opens another within this. */
const REOPEN_WITHIN_MS = 2_000

/** What the state of a connection means to its callers. */
export function probeResultOf(state: ConnectionState, now: number): ProbeVerdict {
  const { kind, reason, since, isForgotten, isWaking, isAnnounced, isBusy, downSince } = state
  const isLate = isForgotten && kind === 'starting' && now - since >= REOPEN_WITHIN_MS
  if (isLate) return { up: false, recovering: true, reason: 'It has forgotten the session, and opens no other one.' }
  if (kind === 'up' || kind === 'idle' || isAnnounced || isForgotten) return { up: true, reason }
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
