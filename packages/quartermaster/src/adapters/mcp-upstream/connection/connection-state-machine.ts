import type { Random } from '../../../core/kernel/index.ts'
import { type ChannelEnd, forPeople, type Trouble } from '../peer/channel.ts'

export type StateKind = 'idle' | 'starting' | 'up' | 'waiting' | 'needsLogin' | 'stopped'

/** The state of a connection. Immutable; every event makes the next state. */
export interface Machine<S> {
  readonly kind: StateKind
  readonly why: Trouble
  readonly since: number
  readonly nextStartAt: number | undefined
  /** Present while it is up, and at no other time. */
  readonly session: S | undefined
  /** The number of the current start. Results of earlier starts are ignored. */
  readonly start: number
  readonly startedAt: number
  readonly falls: Falls
  /** The same for sessions that the server forgot, which are no falls. */
  readonly forgotten: Falls
  /** When the first of these falls happened. */
  readonly fellAt: number
  /** Starts since then that did not wait for their time. */
  readonly early: number
  /** Falls since it last served a request. */
  readonly inVain: number
  /** Starts that became necessary because it fell, or did not come up. */
  readonly restarts: number
  readonly lastTrouble: LastTrouble | undefined
  /** Why no new request is begun, where it only finishes its open ones. */
  readonly leaving: string | undefined
}

interface LastTrouble extends Trouble {
  readonly at: number
  readonly isRefusal: boolean
  readonly isForgotten: boolean
  readonly isBusy: boolean
}

export type MachineEvent<S> =
  /** It will be started when its turn comes. */
  | { readonly what: 'announced' }
  /** A request needs it. */
  | { readonly what: 'wanted' }
  /** It has served a request. */
  | { readonly what: 'served' }
  /** A call or a person checks whether it works. */
  | { readonly what: 'lookedAt' }
  | ({ readonly what: 'due' } & Pick<Afterwards, 'isMissed'>)
  /** From outside it looks different: a repaired program, an open port. */
  | { readonly what: 'changedOutside' }
  | { readonly what: 'opened'; readonly start: number; readonly session: S; readonly note: string }
  | ({ readonly what: 'failed'; readonly start: number; readonly trouble: Trouble } & Afterwards)
  | ({ readonly what: 'fell'; readonly session: S } & Afterwards & { readonly end: ChannelEnd })
  /** It has been idle for long. */
  | { readonly what: 'unused'; readonly session: S }
  | { readonly what: 'renewed' }
  /** It was replaced or removed: its open requests may finish, and nothing is begun. */
  | { readonly what: 'left'; readonly reason: string }
  | { readonly what: 'stopped'; readonly reason: string }

interface Afterwards {
  /** How the attempt ended, where that is known. */
  readonly end?: ChannelEnd | undefined
  /** How long it asks to be left alone, where it can be reached. */
  readonly busyMs?: number | undefined
  /** Whether it is to come back automatically. */
  readonly isMissed: boolean
  /** From 0 to 1. */
  readonly luck: number
}

/** Actions that follow from a transition. Every transition ends the waiting and watching that was before. */
export type Action<S> =
  | { readonly action: 'open'; readonly start: number; readonly isAgain: boolean }
  | { readonly action: 'giveUp'; readonly reason: string }
  /** What is in the way has to be gone before the next start. `end` is reported to callers that it cuts off. */
  | { readonly action: 'close'; readonly session: S; readonly isInTheWay: boolean; readonly end?: ChannelEnd }
  | { readonly action: 'wait'; readonly ms: number }
  | { readonly action: 'lookOutside'; readonly downSince: number }
  | { readonly action: 'note'; readonly text: string }

export interface Step<S> {
  readonly machine: Machine<S>
  readonly actions: readonly Action<S>[]
}

/**
 * A server that refused us for want of a login may accept us without a new one: a proxy was down, a key was restored.
 */
export const LOGIN_RETRY_MS = 30_000
/** It may ask for a day and be well long before. */
export const MOST_BUSY_MS = 60_000
/** Requests and checks start it no more often than this: half of what a call waits. */
export const LOOK_STARTS_MS = 5_000
/**
 * After this many falls without an answer to any call, calls no longer start it early. Its pauses are then longer than
 * the recovery time, so its tools leave the list; otherwise they would stay listed while it fell with every call.
 */
export const MOST_IN_VAIN = 7
/** At most one new session in this time, however soon the server forgets them. */
export const NEW_SESSION_MS = 500
/**
 * A file that changes all the time, such as a log, is no sign of repair: after this many vain starts changes are
 * ignored.
 */
export const MOST_EARLY = 10

/** Shown while it waits for its turn to start. */
export const ANNOUNCED = 'It is about to be started.'

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
    falls: NO_FALLS,
    forgotten: NO_FALLS,
    fellAt: 0,
    early: 0,
    inVain: 0,
    restarts: 0,
    lastTrouble: undefined,
    leaving: undefined,
  }
}

/** The next state and its actions. An event without meaning in this state returns the same object. */
export function next<S>(machine: Machine<S>, event: MachineEvent<S>, now: number): Step<S> {
  const { kind } = machine
  if (kind === 'stopped') return stay(machine)
  if (machine.leaving !== undefined) return departing(machine, event, { reason: machine.leaving, now })
  switch (event.what) {
    case 'announced':
      return kind === 'idle' && machine.start === 0 ? announced(machine, now) : stay(machine)
    case 'wanted':
      if (kind === 'idle' || isAnnounced(machine)) return needed(machine, now)
      // Access may have been granted by now, and only a start finds out.
      if (kind === 'needsLogin') return hurried(machine, now)
      return mayBeHurried(machine) && machine.inVain <= MOST_IN_VAIN ? hurried(machine, now) : stay(machine)
    case 'served':
      return kind === 'up' && machine.inVain > 0 ? { machine: { ...machine, inVain: 0 }, actions: [] } : stay(machine)
    case 'lookedAt':
      if (isAnnounced(machine)) return started(machine, now)
      return mayBeHurried(machine) || kind === 'needsLogin' ? hurried(machine, now) : stay(machine)
    case 'due':
      if (machine.nextStartAt === undefined) return stay(machine)
      return event.isMissed ? started(machine, now) : resting(machine, now)
    case 'changedOutside':
      return kind === 'waiting' ? started({ ...machine, early: machine.early + 1 }, now) : stay(machine)
    case 'opened':
      return isComing(machine, event) ? opened(machine, event, now) : stay(machine)
    case 'failed':
      return isComing(machine, event) ? failed(machine, event, now) : stay(machine)
    case 'fell':
      return machine.session === event.session ? fell(machine, event, now) : stay(machine)
    case 'unused':
      return machine.session === event.session ? asleep(machine, event.session, now) : stay(machine)
    case 'renewed':
      return renewed(machine, now)
    case 'left':
      return kind === 'up'
        ? { machine: { ...machine, leaving: event.reason }, actions: [] }
        : ended(machine, event.reason, now)
    case 'stopped':
      return ended(machine, event.reason, now)
  }
}

function stay<S>(machine: Machine<S>): Step<S> {
  return { machine, actions: [] }
}

function isComing<S>(machine: Machine<S>, { start }: { readonly start: number }): boolean {
  return machine.kind === 'starting' && machine.start === start
}

/** Whether that is the only thing known to be wrong with it. */
export function isOnly<S>({ why, lastTrouble }: Machine<S>, what: 'isForgotten' | 'isBusy'): boolean {
  return lastTrouble !== undefined && why === lastTrouble && lastTrouble[what]
}

type Place = Pick<Machine<unknown>, 'kind' | 'why'> & { readonly nextStartAt?: number }

function moved<S>(machine: Machine<S>, place: Place, now: number): Machine<S> {
  return { ...machine, nextStartAt: undefined, session: undefined, ...place, since: now }
}

/** Whether it is to be started and no attempt has begun. */
function isAnnounced<S>({ kind, start }: Machine<S>): boolean {
  return kind === 'starting' && start === 0
}

/** Shown to others as starting. A request that needs it does not wait for its turn. */
function announced<S>(machine: Machine<S>, now: number): Step<S> {
  return { machine: moved(machine, { kind: 'starting', why: { reason: ANNOUNCED } }, now), actions: [] }
}

/** A server that forgets each session at once would be reconnected without end. */
function needed<S>(machine: Machine<S>, now: number): Step<S> {
  return isOnly(machine, 'isForgotten')
    ? startedFrom(machine, machine.startedAt + NEW_SESSION_MS, now)
    : started(machine, now)
}

/** A server that asks to be left alone is left alone. */
function mayBeHurried<S>(machine: Machine<S>): boolean {
  return machine.kind === 'waiting' && !isOnly(machine, 'isBusy')
}

/**
 * A request cannot wait for the end of a long pause, and a server that falls all the time is not started all the time.
 */
function hurried<S>(machine: Machine<S>, now: number): Step<S> {
  const step = startedFrom(machine, machine.startedAt + LOOK_STARTS_MS, now)
  const isShortened = step.machine !== machine && step.machine.kind === 'waiting'
  return isShortened ? { ...step, actions: [...step.actions, ...outsideLook(machine)] } : step
}

/** Starts now if the time has come; otherwise then, unless a later start is planned already. */
function startedFrom<S>(machine: Machine<S>, time: number, now: number): Step<S> {
  const at = Math.round(time)
  if (now >= at) return started(machine, now)
  if (machine.nextStartAt !== undefined && machine.nextStartAt <= at) return stay(machine)
  return { machine: { ...machine, nextStartAt: at }, actions: [{ action: 'wait', ms: at - now }] }
}

function started<S>(machine: Machine<S>, now: number): Step<S> {
  const hasFallen = machine.falls.count > 0
  // The last error says more than that it is retried.
  const why =
    hasFallen && machine.lastTrouble ? machine.lastTrouble : { reason: 'It was started and has not answered yet.' }
  const start = machine.start + 1
  const restarts = machine.restarts + (hasFallen && machine.kind !== 'needsLogin' ? 1 : 0)
  const next = { ...moved(machine, { kind: 'starting', why }, now), start, startedAt: now, restarts }
  return { machine: next, actions: [{ action: 'open', start, isAgain: hasFallen }] }
}

function opened<S>(machine: Machine<S>, { session, note }: { session: S; note: string }, now: number): Step<S> {
  // The server's name is its own text, and models read this, so it is left out.
  const next = moved(machine, { kind: 'up', why: { reason: 'It answers.' } }, now)
  // Access means that a person has signed in, or that the key has changed.
  const lastTrouble = machine.lastTrouble?.isRefusal ? undefined : machine.lastTrouble
  return { machine: { ...next, session, lastTrouble }, actions: [{ action: 'note', text: note }] }
}

function failed<S>(machine: Machine<S>, event: Afterwards & { trouble: Trouble }, now: number): Step<S> {
  const fellAt = machine.falls.count === 0 ? { fellAt: now, early: 0 } : {}
  return down(counted({ ...machine, ...fellAt, falls: afterFailedStart(machine.falls) }), event, now)
}

function fell<S>(machine: Machine<S>, event: Afterwards & { session: S; end: ChannelEnd }, now: number): Step<S> {
  const livedMs = now - machine.since
  const isForgotten = event.end.kind === 'sessionLost'
  const falls = (isForgotten ? afterForgotten : afterFall)(machine.falls, livedMs)
  const fellAt = falls.count === 1 ? { fellAt: now, early: 0 } : {}
  const forgotten = isForgotten ? afterFall(machine.forgotten, livedMs) : machine.forgotten
  const after = down(
    counted({ ...machine, ...fellAt, falls, forgotten }),
    { ...event, trouble: event.end, isForgotten },
    now,
  )
  // A program that exited blocks no start; its child processes are cleaned up meanwhile.
  const isInTheWay = event.end.kind !== 'exited'
  const close: Action<S> = { action: 'close', session: event.session, isInTheWay, end: event.end }
  return { ...after, actions: [close, ...after.actions] }
}

/** A long enough run resets the count. */
function counted<S>(machine: Machine<S>): Machine<S> {
  return { ...machine, inVain: Math.min(machine.inVain + 1, machine.falls.count) }
}

type Down = Afterwards & { readonly trouble: Trouble; readonly isForgotten?: boolean }

function down<S>(machine: Machine<S>, event: Down, now: number): Step<S> {
  const { isForgotten = false, trouble, end } = event
  const { reason, said } = trouble
  const isBusy = event.busyMs !== undefined
  const why = { reason, said, at: Math.round(now), isRefusal: end?.kind === 'unauthorized', isForgotten, isBusy }
  const told = { ...machine, lastTrouble: why }
  const missed = () => (isForgotten ? reopening(told, event, now) : waiting(told, event, now))
  // A server that asks to be left alone is left alone, whatever needs it next.
  const after = event.isMissed || isBusy ? missed() : resting(told, now)
  return { ...after, actions: [{ action: 'note', text: forPeople(why) }, ...after.actions] }
}

/** Nothing needs it now; the next request starts it. */
function resting<S>(machine: Machine<S>, now: number): Step<S> {
  return { machine: moved(machine, { kind: 'idle', why: machine.lastTrouble ?? machine.why }, now), actions: [] }
}

/**
 * The server is there, so it counts as up. Without requests it is reconnected ever later, in case that it keeps no
 * session.
 */
function reopening<S>(machine: Machine<S>, { luck }: Afterwards, now: number): Step<S> {
  const ms = delayAfter(machine.forgotten, () => luck)
  if (ms === 0) return started(machine, now)
  const after = { ...resting(machine, now).machine, nextStartAt: Math.round(now + ms) }
  return { machine: after, actions: [{ action: 'wait', ms }] }
}

function waiting<S>(machine: Machine<S>, { end, luck, busyMs }: Afterwards, now: number): Step<S> {
  const why = machine.lastTrouble ?? machine.why
  // A server that accepted us until now may do so again with other credentials: that is tried at once.
  const needsLogin = end?.kind === 'unauthorized' && machine.falls.count > 1
  const delayMs = Math.max(
    delayAfter(machine.falls, () => luck),
    Math.min(busyMs ?? 0, MOST_BUSY_MS),
  )
  const ms = needsLogin ? LOGIN_RETRY_MS : delayMs
  if (ms === 0) return started(machine, now)
  const kind = needsLogin ? 'needsLogin' : 'waiting'
  const after = moved(machine, { kind, why, nextStartAt: Math.round(now + ms) }, now)
  return { machine: after, actions: [{ action: 'wait', ms }, ...outsideLook(after)] }
}

/** A server that waits for a person, or asks to be left alone, shows no sign of change from outside. */
function outsideLook<S>(machine: Machine<S>): Action<S>[] {
  const { kind, early, fellAt } = machine
  if (kind === 'needsLogin' || isOnly(machine, 'isBusy') || early >= MOST_EARLY) return []
  return [{ action: 'lookOutside', downSince: fellAt }]
}

function asleep<S>(machine: Machine<S>, session: S, now: number): Step<S> {
  const why = { reason: 'It was not used and starts again when it is needed.' }
  const after = { ...moved(machine, { kind: 'idle', why }, now), falls: NO_FALLS }
  return { machine: after, actions: [{ action: 'close', session, isInTheWay: true }] }
}

function renewed<S>(machine: Machine<S>, now: number): Step<S> {
  const after = started({ ...machine, falls: NO_FALLS, forgotten: NO_FALLS }, now)
  return { ...after, actions: [...left(machine, 'It is being restarted.'), ...after.actions] }
}

function ended<S>(machine: Machine<S>, reason: string, now: number): Step<S> {
  return { machine: moved(machine, { kind: 'stopped', why: { reason } }, now), actions: left(machine, reason) }
}

/** It is never started again. Answers still to come after its end are waited for. */
function departing<S>(
  machine: Machine<S>,
  event: MachineEvent<S>,
  { reason, now }: { reason: string; now: number },
): Step<S> {
  if (event.what === 'stopped') return ended(machine, event.reason, now)
  if (event.what === 'unused' || event.what === 'renewed') return ended(machine, reason, now)
  if (event.what !== 'fell' || event.session !== machine.session) return stay(machine)
  const close: Action<S> = { action: 'close', session: event.session, isInTheWay: true, end: event.end }
  return { machine: moved(machine, { kind: 'stopped', why: { reason } }, now), actions: [close] }
}

/** Cancels what is in progress and ends what is there. */
function left<S>({ kind, session }: Machine<S>, reason: string): Action<S>[] {
  if (kind === 'starting') return [{ action: 'giveUp', reason }]
  return session === undefined ? [] : [{ action: 'close', session, isInTheWay: true, end: { kind: 'closed', reason } }]
}

/** A run of this length shows that the start did not fail. */
export const STABLE_MS = 5_000
/**
 * At once, soon, then ever later: a crash is repaired before it is noticed, and a server that cannot stay up is left
 * alone.
 */
export const DELAYS_MS: readonly number[] = [0, 100, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000]

/** How often in a row it failed to stay up. */
export interface Falls {
  readonly count: number
}

export const NO_FALLS: Falls = { count: 0 }

/** After a run that ended. */
export function afterFall({ count }: Falls, livedMs: number): Falls {
  return { count: livedMs >= STABLE_MS ? 1 : count + 1 }
}

/** After a session that the server forgot. It is there, so this is no fall; only a long run resets earlier ones. */
export function afterForgotten({ count }: Falls, livedMs: number): Falls {
  return { count: livedMs >= STABLE_MS ? 1 : Math.max(1, count) }
}

/** After a failed start: an immediate retry would fail as well. */
export function afterFailedStart({ count }: Falls): Falls {
  return { count: Math.max(2, count + 1) }
}

/** How long to wait before the next start. Servers that fell together do not restart together. */
export function delayAfter({ count }: Falls, random: Random): number {
  const delay = DELAYS_MS[Math.min(count, DELAYS_MS.length) - 1] ?? 0
  return delay * (0.8 + 0.2 * random())
}

/** The state of a connection, and why. */
export interface ConnectionState {
  /**
   * `idle`: it starts when it is needed, or at `nextStartAt`. `waiting`: it fell, and starts again at `nextStartAt`.
   * `elsewhere`: it runs on one node at a time, and another node runs it.
   */
  readonly kind: StateKind | 'elsewhere'
  /** A model may read it. */
  readonly reason: string
  /** What the server said about it, for people alone. */
  readonly said?: string | undefined
  readonly since: number
  readonly nextStartAt?: number | undefined
  /** Since when it has been down, after it fell. */
  readonly downSince?: number | undefined
  /** Whether it only needs a new session, and no start has failed since. */
  readonly isForgotten?: boolean | undefined
  /** Whether it is being started, and nothing failed before. */
  readonly isWaking?: boolean | undefined
  /** Whether it waits for its turn to start. A request that needs it starts it at once. */
  readonly isAnnounced?: boolean | undefined
  /** Whether it answered the last attempt by asking to come back later. */
  readonly isBusy?: boolean | undefined
}

export function stateOf<S>(machine: Machine<S>): ConnectionState {
  const { kind, why, since, nextStartAt, falls, fellAt } = machine
  const isForgotten = isOnly(machine, 'isForgotten')
  const isBusy = isOnly(machine, 'isBusy')
  const isWaking = kind === 'starting' && falls.count === 0
  const isAnnounced = kind === 'starting' && machine.start === 0
  // One fall while unused is repaired by the next request; a failed start need not be.
  const isFallen = kind === 'idle' ? falls.count > 1 : falls.count > 0 && (kind === 'starting' || kind === 'waiting')
  // A first request to wait is believed; a server that still asks then counts as down.
  const isExcused = isForgotten || (isBusy && falls.count <= afterFailedStart(NO_FALLS).count)
  const downSince = isFallen && !isExcused ? fellAt : undefined
  const { reason, said } = why
  return { kind, reason, said, since, nextStartAt, downSince, isForgotten, isWaking, isAnnounced, isBusy }
}
