import { AppError } from '../../../contracts/index.ts'
import type { ProbeVerdict } from '../../../core/catalogue/index.ts'
import { type CancelSignal, type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import { type Concerned, whenToTryAgain } from '../errors.ts'
import { pause, withTimeLimit } from '../pausing.ts'
import type { Session } from '../session/session.ts'
import { forPeople } from '../session/trouble.ts'
import { type CarefulLane, createCarefulLane } from './careful-lane.ts'
import { type ConnectionState, stateOf } from './connection-state.ts'
import { createFailures, type Failure } from './failures.ts'
import { createHangWatch, type HangWatch } from './hang-watch.ts'
import { createRefusals } from './refusals.ts'
import { createRunner, type Runner, type RunnerDeps } from './runner.ts'
import { HANG_MS } from './silence.ts'

/** A connection that is kept up. */
export interface Connection {
  /** Whom an error is about that it cannot be reached. */
  readonly concerned: Concerned
  /** What it leads to: the same object as long as the entry says the same of how it is reached. */
  readonly target: object
  state(): ConnectionState
  session(): Session | undefined
  /** Whether somebody waits for it to come up. */
  isAwaited(): boolean
  /** How often it was started again because it fell, or did not come up. */
  readonly restarts: () => number
  readonly lastError: () => { message: string; at: number; isStanding?: true | undefined } | undefined
  /** It is started soon. Until then it stands as one that is being started, and whoever needs it starts it. */
  announce(): void
  /** Starts it, unless it runs. Waits for nothing. */
  start(): void
  /** For requests with which it has broken before. */
  readonly lane: CarefulLane
  /** The session, if there is one now and no reason to doubt that it is heard. */
  takeNow(): Session | undefined
  /** The session, when there is one within the budget. Throws `DEPENDENCY_UNAVAILABLE`. */
  take(options: TakeOptions): Promise<Session>
  /** Looks whether it works. One that is down is started for whoever wants to know, and left to its pauses otherwise. */
  look(signal: AbortSignal, options?: LookOptions): Promise<ProbeVerdict>
  /** Something went wrong that may mean that the server hangs or is gone. Resolves when that is known. */
  suspect(session: Session): Promise<void>
  /** It answers, and has refused somebody's request as it refuses whoever may not come in. People are told. */
  refused(what: string, reason: string): void
  /**
   * Somebody's request has failed for good, and the server may be there all the same: then people are told. Where nothing
   * succeeds any more it is started anew, once. Resolves when that is known.
   */
  failed(session: Session, failure: Failure): Promise<void>
  /** It has let somebody's request in, which has succeeded. */
  answered(what: string): void
  /** Ends what runs and starts anew, whatever it waited for. */
  restart(): Promise<void>
  /** How many requests are under way on it. */
  busy(): number
  /** Nothing new is begun on it, and whoever waits for it is told why. Resolves when what was under way has ended, and it has. */
  leave(reason: string): Promise<void>
  /** For good, and at once. Whoever waits for it, or has asked it something, is told why. */
  stop(reason: string): Promise<void>
}

export interface TakeOptions {
  readonly budgetMs: number
  readonly signal: CancelSignal
}

export interface LookOptions {
  /** Whether a call or a person wants to know. */
  readonly isRequested?: boolean | undefined
  /** Whether calls wait for it to come back. */
  readonly isAwaited?: boolean | undefined
}

export interface ConnectionDeps extends RunnerDeps {
  /** Whose it is, unless it is for everybody. */
  readonly agent?: string | undefined
  /** Which upstream this is, and which dependency, for errors. */
  readonly upstream: string
  readonly dependency: string
  readonly target: object
  /** Ended when unused for so long. */
  readonly idleMs: number | undefined
  /** Whether somebody waits to be told of changes, although nothing is asked. */
  isWatched(): boolean
  /** How long a call may take. */
  callMs(): number
  /** It is there, and `session()` is it: what came in while it was being opened can be done. */
  onUp(session: Session): void
}

/** How often one that is at work is looked at whether it has nothing more to do. */
const SOONEST_IDLE_MS = 1_000
/** Whoever was heard within this needs no look. */
const FRESH_MS = 1_000
/** It is known by then, unless it was at work when it was asked. */
const MOST_ASKING_MS = 2 * HANG_MS
/** How long a call may wait for a person beside its own time. */
const MOST_ASKED_MS = 10 * 60_000
/** How often one that is left is looked at whether everything on it has ended. */
const LEAVE_LOOK_MS = 50

export function createConnection(deps: ConnectionDeps): Connection {
  const { clock, idleMs, callMs, isWatched } = deps
  const refusals = createRefusals(clock, deps.agent)
  const failures = createFailures(deps)
  const onUp = (session: Session) => {
    // Whoever comes in anew may have another key by now.
    refusals.clear()
    failures.clear()
    hangs.meet(session)
    if (idleMs !== undefined) watchIdleness(session, { runner, clock, idleMs, isWatched })
    deps.onUp(session)
  }
  const runner: Runner = createRunner({ ...deps, onUp })
  const session = () => runner.life().session
  let waiters = 0
  const hangs = createHangWatch({ clock, callMs, current: session, later: runner.later, onHang: runner.fell })

  function takeNow(): Session | undefined {
    const { session: taken, leaving } = runner.life()
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

  /** What was not sent yet can still go to the next one, whatever it does. Answers how much of the budget is left. */
  async function askFirst(silent: Session, { budgetMs, signal }: TakeOptions): Promise<number> {
    // Whoever cannot wait at all takes it as it is.
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

  /** Of one that does not answer at all it is told that it fell. */
  async function failed(at: Session, failure: Failure): Promise<void> {
    const note = failures.noting(failure)
    if (!HAS_ANSWERED.has(failure.kind)) await hangs.suspect(at)
    if (session() !== at) return
    note()
    const reason = failures.reasonToRenew()
    if (!reason || !isRenewable(at) || runner.life().leaving !== undefined) return
    failures.renewing()
    runner.fell(at, { kind: 'failing', ...reason })
  }

  return {
    concerned: concernedBy(deps),
    target: deps.target,
    lane: createCarefulLane(),
    state: () => stateOf(runner.life()),
    session,
    isAwaited: () => waiters > 0,
    restarts: () => runner.life().restarts,
    lastError() {
      const { lastTrouble } = runner.life()
      const standing = later(refusals.last(), failures.last())
      if (standing && standing.at >= (lastTrouble?.at ?? 0)) return standing
      const whose = deps.agent === undefined ? '' : `For "${deps.agent}": `
      return lastTrouble && { message: `${whose}${forPeople(lastTrouble)}`, at: lastTrouble.at }
    },
    announce: () => runner.tell({ what: 'announced' }),
    start: () => runner.tell({ what: 'wanted' }),
    takeNow,
    async take(options) {
      const { leaving } = runner.life()
      if (leaving !== undefined) throw unreachable(deps, { kind: 'stopped', reason: leaving })
      return takeNow() ?? awaited(options)
    },
    async look(signal, { isRequested = false, isAwaited = false } = {}) {
      if (isRequested) await lookAnew(runner, signal)
      if (isAwaited) runner.tell({ what: 'wanted' })
      return look({ runner, hangs, clock }, signal)
    },
    suspect: hangs.suspect,
    refused: refusals.add,
    failed,
    answered(what) {
      refusals.answered(what)
      failures.answered()
      // Nearly every call is answered, and nearly none has anything to tell by that.
      if (runner.life().inVain > 0) runner.tell({ what: 'served' })
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

/** What needs no look whether the server is there. */
const HAS_ANSWERED: ReadonlySet<Failure['kind']> = new Set(['unreadable', 'busy'])

/**
 * Whether to start it anew makes a difference, and ends nothing that may still succeed: a program may be at work on what was given
 * up. By HTTP there is nothing to be made anew but a session, which the newer era does not have; the one before is left without a
 * word, and with what the server does in it.
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
      const { kind, session, nextStartAt = 0 } = runner.life()
      const isTooLong = stateOf(runner.life()).isBusy && nextStartAt > until
      const isHopeless = kind === 'stopped' || kind === 'needsLogin' || isTooLong
      if (session || isHopeless || either.aborted || budgetMs <= 0) return session
      await runner.moved(either)
    }
  })
  throwIfCancelled(signal)
  if (found) return found
  throw unreachable(deps, stateOf(runner.life()))
}

/** Waking it is no restart: that takes as long as a start may, and nothing from the budget. */
async function woken(runner: Runner, signal: CancelSignal): Promise<void> {
  runner.tell({ what: 'wanted' })
  while (stateOf(runner.life()).isWaking && !signal.aborted) await runner.moved(signal)
}

/** One agent's key that is not taken is no word about the server, which everybody else would wait for to be looked at. */
function concernedBy({ agent, upstream, dependency }: ConnectionDeps): Concerned {
  return agent === undefined ? { dependency } : { upstream, agent }
}

type Unreachable = Pick<ConnectionState, 'reason'> & Partial<ConnectionState>

function unreachable(deps: ConnectionDeps, { kind, reason, isBusy, nextStartAt = 0 }: Unreachable): AppError {
  const whom = deps.agent === undefined ? '' : ` for "${deps.agent}"`
  // In the place of what was stopped there may be another one by now.
  const concerned = kind === 'stopped' ? { upstream: deps.upstream } : concernedBy(deps)
  const retryAfterMs = Math.max(0, Math.round(nextStartAt - deps.clock.now()))
  const why = isBusy ? `${reason} ${whenToTryAgain(retryAfterMs)}` : reason
  return new AppError('DEPENDENCY_UNAVAILABLE', `"${deps.dependency}" cannot be reached${whom}: ${why}`, {
    details: { ...concerned, ...(isBusy && { retryAfterMs }) },
  })
}

interface Looking {
  readonly runner: Runner
  readonly hangs: HangWatch
  readonly clock: Clock
}

/** Somebody may have been let in meanwhile, and only a start finds out. */
async function lookAnew(runner: Runner, signal: AbortSignal): Promise<void> {
  const { kind } = runner.life()
  runner.tell({ what: 'lookedAt' })
  if (kind !== 'needsLogin') return
  while (runner.life().kind === 'starting' && !signal.aborted) await runner.moved(signal)
}

async function look({ runner, hangs, clock }: Looking, signal: AbortSignal): Promise<ProbeVerdict> {
  const { session } = runner.life()
  const verdict = () => verdictOf(stateOf(runner.life()), clock.now())
  if (!session || clock.now() - session.heardAt() < FRESH_MS) return verdict()
  const found = await hangs.look(session, signal)
  if (found === 'suspected') throw new Error('It did not answer.')
  const isSilent = found !== 'answers' && runner.life().session === session
  return isSilent ? { up: true, reason: SILENCE[found] } : verdict()
}

const SILENCE = { atWork: 'It is at work.', excused: 'It did not answer, which need not mean anything.' } as const

/** A server that has forgotten a session and is there opens another one within this. */
const ANEW_WITHIN_MS = 2_000

/** What a connection that stands there means to those who need it. */
export function verdictOf(state: ConnectionState, now: number): ProbeVerdict {
  const { kind, reason, since, isForgotten, isWaking, isAnnounced, isBusy, downSince } = state
  const isLate = isForgotten && kind === 'starting' && now - since >= ANEW_WITHIN_MS
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
