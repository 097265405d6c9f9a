import type { Random } from '../../../core/kernel/index.ts'
import { type ChannelEnd, type ErrorReport, forPeople } from '../peer/channel.ts'

export type StateKind = 'idle' | 'starting' | 'up' | 'waiting' | 'needsLogin' | 'stopped'

/** The state of a connection. Immutable; every event makes the next state. */
export interface Machine<S> {
  readonly kind: StateKind
  readonly why: ErrorReport
  readonly since: number
  readonly nextStartAt: number | undefined
  /** Present while the connection is up, and at no other time. */
  readonly session: S | undefined
  /** The number of the current start. Results of earlier starts are ignored. */
  readonly start: number
  readonly startedAt: number
  readonly crashes: CrashCount
  /** Sessions that the server forgot, which are no crashes. */
  readonly forgotten: CrashCount
  /** When the first crash of the current row happened. */
  readonly crashedAt: number
  /** Starts since then that did not wait for their time. */
  readonly earlyStarts: number
  readonly crashesSinceServed: number
  /** Starts that became necessary because the server crashed, or did not come up. */
  readonly restarts: number
  readonly lastError: LastError | undefined
  /** Why no new request is begun while open requests finish. */
  readonly draining: string | undefined
}

interface LastError extends ErrorReport {
  readonly at: number
  readonly isRefusal: boolean
  readonly isForgotten: boolean
  readonly isBusy: boolean
}

export type MachineEvent<S> =
  /** The connection will be started when its turn comes. */
  | { readonly what: 'scheduled' }
  /** A request needs the connection. */
  | { readonly what: 'requested' }
  | { readonly what: 'served' }
  /** A call or a person checks whether the server works. */
  | { readonly what: 'probed' }
  | { readonly what: 'timerDue'; readonly isNeeded: boolean }
  /** Seen from outside the server has changed: a repaired program, an open port. */
  | { readonly what: 'serverChanged' }
  | { readonly what: 'connected'; readonly start: number; readonly session: S; readonly note: string }
  | ({ readonly what: 'connectFailed'; readonly start: number; readonly error: ErrorReport } & RetryFacts)
  | ({ readonly what: 'sessionEnded'; readonly session: S; readonly end: ChannelEnd } & RetryFacts)
  | { readonly what: 'idleTimeout'; readonly session: S }
  | { readonly what: 'restart' }
  /** The upstream was replaced or removed: open requests may finish, and nothing is begun. */
  | { readonly what: 'drain'; readonly reason: string }
  | { readonly what: 'stop'; readonly reason: string }

interface RetryFacts {
  /** How the attempt ended, where that is known. */
  readonly end?: ChannelEnd | undefined
  /** How long a reachable server asks to be left alone. */
  readonly busyMs?: number | undefined
  /** Whether to reconnect automatically. */
  readonly isNeeded: boolean
  /** From 0 to 1. */
  readonly jitter: number
}

/** Actions that follow from a transition. Every transition ends earlier waiting and watching. */
export type Action<S> =
  | { readonly action: 'connect'; readonly start: number; readonly isAgain: boolean }
  | { readonly action: 'abandon'; readonly reason: string }
  /**
   * Where it blocks the reconnect, the session has to be gone before the next start. `end` is reported to the callers
   * of requests that are cut off.
   */
  | { readonly action: 'close'; readonly session: S; readonly blocksReconnect: boolean; readonly end?: ChannelEnd }
  | { readonly action: 'wait'; readonly ms: number }
  | { readonly action: 'watchForChange'; readonly downSince: number }
  | { readonly action: 'log'; readonly text: string }

export interface Step<S> {
  readonly machine: Machine<S>
  readonly actions: readonly Action<S>[]
}

/** A server that wanted a login may accept us later without a new one: a proxy was down, a key was restored. */
export const LOGIN_RETRY_MS = 30_000
/** A busy server may ask for a day and recover long before. */
export const MOST_BUSY_MS = 60_000
/** Requests and checks start the server no more often than this: half of what a call waits. */
export const DEMAND_START_MS = 5_000
/**
 * After this many crashes without a served call, calls no longer start the server early. Its pauses are then longer
 * than the recovery time, so its tools leave the list; otherwise they would stay listed while every call crashed it.
 */
export const MOST_CRASHES_UNSERVED = 7
/** At most one new session in this time, however soon the server forgets them. */
export const NEW_SESSION_MS = 500
/**
 * A file that changes all the time, such as a log, is no sign of repair: after this many vain starts changes are
 * ignored.
 */
export const MOST_EARLY_STARTS = 10

/** Shown while a connection waits for its turn to start. */
export const SCHEDULED = 'It is about to be started.'

/** The state before the first start. */
export function newMachine<S>(now: number): Machine<S> {
  return {
    kind: 'idle',
    why: { reason: 'It starts when it is needed.' },
    since: now,
    nextStartAt: undefined,
    session: undefined,
    start: 0,
    startedAt: Number.NEGATIVE_INFINITY,
    crashes: NO_CRASHES,
    forgotten: NO_CRASHES,
    crashedAt: 0,
    earlyStarts: 0,
    crashesSinceServed: 0,
    restarts: 0,
    lastError: undefined,
    draining: undefined,
  }
}

/** The next state and its actions. An event without meaning in this state returns the same object. */
export function next<S>(machine: Machine<S>, event: MachineEvent<S>, now: number): Step<S> {
  const { kind } = machine
  if (kind === 'stopped') return stay(machine)
  if (machine.draining !== undefined) return whileDraining(machine, event, { reason: machine.draining, now })
  switch (event.what) {
    case 'scheduled':
      return kind === 'idle' && machine.start === 0 ? schedule(machine, now) : stay(machine)
    case 'requested':
      if (kind === 'idle' || isScheduled(machine)) return startOnDemand(machine, now)
      // Access may have been granted by now, and only a start finds out.
      if (kind === 'needsLogin') return startEarly(machine, now)
      return mayStartEarly(machine) && machine.crashesSinceServed <= MOST_CRASHES_UNSERVED
        ? startEarly(machine, now)
        : stay(machine)
    case 'served':
      return kind === 'up' && machine.crashesSinceServed > 0
        ? { machine: { ...machine, crashesSinceServed: 0 }, actions: [] }
        : stay(machine)
    case 'probed':
      if (isScheduled(machine)) return start(machine, now)
      return mayStartEarly(machine) || kind === 'needsLogin' ? startEarly(machine, now) : stay(machine)
    case 'timerDue':
      if (machine.nextStartAt === undefined) return stay(machine)
      return event.isNeeded ? start(machine, now) : goIdle(machine, now)
    case 'serverChanged':
      return kind === 'waiting' ? start({ ...machine, earlyStarts: machine.earlyStarts + 1 }, now) : stay(machine)
    case 'connected':
      return isCurrentStart(machine, event) ? connected(machine, event, now) : stay(machine)
    case 'connectFailed':
      return isCurrentStart(machine, event) ? connectFailed(machine, event, now) : stay(machine)
    case 'sessionEnded':
      return machine.session === event.session ? sessionEnded(machine, event, now) : stay(machine)
    case 'idleTimeout':
      return machine.session === event.session ? sleep(machine, event.session, now) : stay(machine)
    case 'restart':
      return restart(machine, now)
    case 'drain':
      return kind === 'up'
        ? { machine: { ...machine, draining: event.reason }, actions: [] }
        : stop(machine, event.reason, now)
    case 'stop':
      return stop(machine, event.reason, now)
  }
}

function stay<S>(machine: Machine<S>): Step<S> {
  return { machine, actions: [] }
}

function isCurrentStart<S>(machine: Machine<S>, { start }: { readonly start: number }): boolean {
  return machine.kind === 'starting' && machine.start === start
}

/** Whether that is the only thing known to be wrong with the server. */
export function isOnly<S>({ why, lastError }: Machine<S>, what: 'isForgotten' | 'isBusy'): boolean {
  return lastError !== undefined && why === lastError && lastError[what]
}

type Position = Pick<Machine<unknown>, 'kind' | 'why'> & { readonly nextStartAt?: number }

function transition<S>(machine: Machine<S>, position: Position, now: number): Machine<S> {
  return { ...machine, nextStartAt: undefined, session: undefined, ...position, since: now }
}

/** Whether the connection is to be started and no attempt has begun. */
function isScheduled<S>({ kind, start }: Machine<S>): boolean {
  return kind === 'starting' && start === 0
}

/** Shown to others as starting. A request that needs the connection does not wait for its turn. */
function schedule<S>(machine: Machine<S>, now: number): Step<S> {
  return { machine: transition(machine, { kind: 'starting', why: { reason: SCHEDULED } }, now), actions: [] }
}

/** A server that forgets each session at once would be reconnected without end. */
function startOnDemand<S>(machine: Machine<S>, now: number): Step<S> {
  return isOnly(machine, 'isForgotten')
    ? startAt(machine, machine.startedAt + NEW_SESSION_MS, now)
    : start(machine, now)
}

/** A server that asks to be left alone is left alone. */
function mayStartEarly<S>(machine: Machine<S>): boolean {
  return machine.kind === 'waiting' && !isOnly(machine, 'isBusy')
}

/** A request cannot wait for the end of a long pause, yet a server that crashes all the time is not started all the time. */
function startEarly<S>(machine: Machine<S>, now: number): Step<S> {
  const step = startAt(machine, machine.startedAt + DEMAND_START_MS, now)
  const isShortened = step.machine !== machine && step.machine.kind === 'waiting'
  return isShortened ? { ...step, actions: [...step.actions, ...watchAction(machine)] } : step
}

/** Starts now if the time has come; otherwise then, unless a later start is planned already. */
function startAt<S>(machine: Machine<S>, time: number, now: number): Step<S> {
  const at = Math.round(time)
  if (now >= at) return start(machine, now)
  if (machine.nextStartAt !== undefined && machine.nextStartAt <= at) return stay(machine)
  return { machine: { ...machine, nextStartAt: at }, actions: [{ action: 'wait', ms: at - now }] }
}

function start<S>(machine: Machine<S>, now: number): Step<S> {
  const hasCrashed = machine.crashes.count > 0
  // The last error says more than that the start is retried.
  const why =
    hasCrashed && machine.lastError ? machine.lastError : { reason: 'It was started and has not answered yet.' }
  const attempt = machine.start + 1
  const restarts = machine.restarts + (hasCrashed && machine.kind !== 'needsLogin' ? 1 : 0)
  const after = { ...transition(machine, { kind: 'starting', why }, now), start: attempt, startedAt: now, restarts }
  return { machine: after, actions: [{ action: 'connect', start: attempt, isAgain: hasCrashed }] }
}

function connected<S>(machine: Machine<S>, { session, note }: { session: S; note: string }, now: number): Step<S> {
  // The server's name is its own text, and models read this, so it is left out.
  const after = transition(machine, { kind: 'up', why: { reason: 'It answers.' } }, now)
  // Access means that a person has signed in, or that the key has changed.
  const lastError = machine.lastError?.isRefusal ? undefined : machine.lastError
  return { machine: { ...after, session, lastError }, actions: [{ action: 'log', text: note }] }
}

function connectFailed<S>(machine: Machine<S>, event: RetryFacts & { error: ErrorReport }, now: number): Step<S> {
  const first = machine.crashes.count === 0 ? { crashedAt: now, earlyStarts: 0 } : {}
  return down(countUnserved({ ...machine, ...first, crashes: afterFailedStart(machine.crashes) }), event, now)
}

function sessionEnded<S>(
  machine: Machine<S>,
  event: RetryFacts & { session: S; end: ChannelEnd },
  now: number,
): Step<S> {
  const { end, session } = event
  const livedMs = now - machine.since
  const isForgotten = end.kind === 'sessionLost'
  const crashes = (isForgotten ? afterForgotten : afterCrash)(machine.crashes, livedMs)
  const first = crashes.count === 1 ? { crashedAt: now, earlyStarts: 0 } : {}
  const forgotten = isForgotten ? afterCrash(machine.forgotten, livedMs) : machine.forgotten
  const counted = countUnserved({ ...machine, ...first, crashes, forgotten })
  const after = down(counted, { ...event, error: end, isForgotten }, now)
  // A program that exited blocks no start; its child processes are cleaned up meanwhile.
  const close: Action<S> = { action: 'close', session, blocksReconnect: end.kind !== 'exited', end }
  return { ...after, actions: [close, ...after.actions] }
}

/** A long enough run resets the count. */
function countUnserved<S>(machine: Machine<S>): Machine<S> {
  return { ...machine, crashesSinceServed: Math.min(machine.crashesSinceServed + 1, machine.crashes.count) }
}

type Down = RetryFacts & { readonly error: ErrorReport; readonly isForgotten?: boolean }

function down<S>(machine: Machine<S>, event: Down, now: number): Step<S> {
  const { isForgotten = false, error, end } = event
  const { reason, said } = error
  const isBusy = event.busyMs !== undefined
  const lastError = { reason, said, at: Math.round(now), isRefusal: end?.kind === 'unauthorized', isForgotten, isBusy }
  const noted = { ...machine, lastError }
  const retry = () => (isForgotten ? reopenForgotten(noted, event, now) : waitForRetry(noted, event, now))
  // A server that asks to be left alone is left alone, whatever needs it next.
  const after = event.isNeeded || isBusy ? retry() : goIdle(noted, now)
  return { ...after, actions: [{ action: 'log', text: forPeople(lastError) }, ...after.actions] }
}

/** Nothing needs the server now; the next request starts it. */
function goIdle<S>(machine: Machine<S>, now: number): Step<S> {
  return { machine: transition(machine, { kind: 'idle', why: machine.lastError ?? machine.why }, now), actions: [] }
}

/**
 * The server is there, so it counts as up. Without requests it is reconnected ever later, in case that it keeps no
 * session.
 */
function reopenForgotten<S>(machine: Machine<S>, { jitter }: RetryFacts, now: number): Step<S> {
  const ms = delayAfter(machine.forgotten, () => jitter)
  if (ms === 0) return start(machine, now)
  const after = { ...goIdle(machine, now).machine, nextStartAt: Math.round(now + ms) }
  return { machine: after, actions: [{ action: 'wait', ms }] }
}

function waitForRetry<S>(machine: Machine<S>, { end, jitter, busyMs }: RetryFacts, now: number): Step<S> {
  const why = machine.lastError ?? machine.why
  // A server that accepted us until now may do so again with other credentials: that is tried at once.
  const needsLogin = end?.kind === 'unauthorized' && machine.crashes.count > 1
  const delayMs = Math.max(
    delayAfter(machine.crashes, () => jitter),
    Math.min(busyMs ?? 0, MOST_BUSY_MS),
  )
  const ms = needsLogin ? LOGIN_RETRY_MS : delayMs
  if (ms === 0) return start(machine, now)
  const kind = needsLogin ? 'needsLogin' : 'waiting'
  const after = transition(machine, { kind, why, nextStartAt: Math.round(now + ms) }, now)
  return { machine: after, actions: [{ action: 'wait', ms }, ...watchAction(after)] }
}

/** A server that waits for a person, or asks to be left alone, shows no sign of change from outside. */
function watchAction<S>(machine: Machine<S>): Action<S>[] {
  const { kind, earlyStarts, crashedAt } = machine
  if (kind === 'needsLogin' || isOnly(machine, 'isBusy') || earlyStarts >= MOST_EARLY_STARTS) return []
  return [{ action: 'watchForChange', downSince: crashedAt }]
}

function sleep<S>(machine: Machine<S>, session: S, now: number): Step<S> {
  const why = { reason: 'It was not used and starts again when it is needed.' }
  const after = { ...transition(machine, { kind: 'idle', why }, now), crashes: NO_CRASHES }
  return { machine: after, actions: [{ action: 'close', session, blocksReconnect: true }] }
}

function restart<S>(machine: Machine<S>, now: number): Step<S> {
  const after = start({ ...machine, crashes: NO_CRASHES, forgotten: NO_CRASHES }, now)
  return { ...after, actions: [...closeOrAbandon(machine, 'It is being restarted.'), ...after.actions] }
}

function stop<S>(machine: Machine<S>, reason: string, now: number): Step<S> {
  const after = transition(machine, { kind: 'stopped', why: { reason } }, now)
  return { machine: after, actions: closeOrAbandon(machine, reason) }
}

/** The connection is never started again. Answers still to come after its end are waited for. */
function whileDraining<S>(
  machine: Machine<S>,
  event: MachineEvent<S>,
  { reason, now }: { reason: string; now: number },
): Step<S> {
  if (event.what === 'stop') return stop(machine, event.reason, now)
  if (event.what === 'idleTimeout' || event.what === 'restart') return stop(machine, reason, now)
  if (event.what !== 'sessionEnded' || event.session !== machine.session) return stay(machine)
  const close: Action<S> = { action: 'close', session: event.session, blocksReconnect: true, end: event.end }
  return { machine: transition(machine, { kind: 'stopped', why: { reason } }, now), actions: [close] }
}

function closeOrAbandon<S>({ kind, session }: Machine<S>, reason: string): Action<S>[] {
  if (kind === 'starting') return [{ action: 'abandon', reason }]
  const end = { kind: 'closed', reason } as const
  return session === undefined ? [] : [{ action: 'close', session, blocksReconnect: true, end }]
}

/** A run of this length shows that the start did not fail. */
export const STABLE_MS = 5_000
/** A crash is repaired before it is noticed, and a server that cannot stay up is left alone ever longer. */
export const DELAYS_MS: readonly number[] = [0, 100, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000]

/** How often in a row the server failed to stay up. */
export interface CrashCount {
  readonly count: number
}

export const NO_CRASHES: CrashCount = { count: 0 }

export function afterCrash({ count }: CrashCount, livedMs: number): CrashCount {
  return { count: livedMs >= STABLE_MS ? 1 : count + 1 }
}

/** After a session that the server forgot. The server is there, so only a long run resets earlier crashes. */
export function afterForgotten({ count }: CrashCount, livedMs: number): CrashCount {
  return { count: livedMs >= STABLE_MS ? 1 : Math.max(1, count) }
}

/** An immediate retry of a failed start would fail as well. */
export function afterFailedStart({ count }: CrashCount): CrashCount {
  return { count: Math.max(2, count + 1) }
}

/** How long to wait before the next start. Servers that crashed together do not restart together. */
export function delayAfter({ count }: CrashCount, random: Random): number {
  const delay = DELAYS_MS[Math.min(count, DELAYS_MS.length) - 1] ?? 0
  return delay * (0.8 + 0.2 * random())
}

/** The state of a connection, and why. */
export interface ConnectionState {
  /**
   * `idle`: starts when it is needed, or at `nextStartAt`. `waiting`: crashed, and starts again at `nextStartAt`.
   * `elsewhere`: the server runs on one node at a time, and another node runs it.
   */
  readonly kind: StateKind | 'elsewhere'
  /** A model may read it. */
  readonly reason: string
  /** The server's own words about it, for people only. */
  readonly said?: string | undefined
  readonly since: number
  readonly nextStartAt?: number | undefined
  readonly downSince?: number | undefined
  /** Whether the connection only needs a new session, and no start has failed since. */
  readonly isForgotten?: boolean | undefined
  /** Whether the server is being started, and nothing failed before. */
  readonly isWaking?: boolean | undefined
  /** Whether the connection waits for its turn to start. A request that needs it starts it at once. */
  readonly isScheduled?: boolean | undefined
  /** Whether the server answered the last attempt by asking to come back later. */
  readonly isBusy?: boolean | undefined
}

export function stateOf<S>(machine: Machine<S>): ConnectionState {
  const { kind, why, since, nextStartAt, crashes, crashedAt } = machine
  const isForgotten = isOnly(machine, 'isForgotten')
  const isBusy = isOnly(machine, 'isBusy')
  // One crash while unused is repaired by the next request; a failed start need not be.
  const isDown = kind === 'idle' ? crashes.count > 1 : crashes.count > 0 && (kind === 'starting' || kind === 'waiting')
  // A first request to wait is believed; a server that still asks then counts as down.
  const isExcused = isForgotten || (isBusy && crashes.count <= afterFailedStart(NO_CRASHES).count)
  return {
    kind,
    reason: why.reason,
    said: why.said,
    since,
    nextStartAt,
    downSince: isDown && !isExcused ? crashedAt : undefined,
    isForgotten,
    isWaking: kind === 'starting' && crashes.count === 0,
    isScheduled: isScheduled(machine),
    isBusy,
  }
}
