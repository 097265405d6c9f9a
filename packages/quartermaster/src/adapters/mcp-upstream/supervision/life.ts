import type { ChannelEnd } from '../session/channel.ts'
import { forPeople, type Trouble } from '../session/trouble.ts'
import { afterFailedStart, afterFall, afterForgotten, delayAfter, type Falls, NO_FALLS } from './backoff.ts'

export type LifeKind = 'idle' | 'starting' | 'up' | 'waiting' | 'needsLogin' | 'stopped'

/** All that a connection is and that decides what becomes of it. Immutable; every event makes the next. */
export interface Life<S> {
  readonly kind: LifeKind
  readonly why: Trouble
  readonly since: number
  readonly nextStartAt: number | undefined
  /** There is one while it is up, and at no other time. */
  readonly session: S | undefined
  /** Which start it is. What an earlier one comes to is of no interest any more. */
  readonly start: number
  readonly startedAt: number
  readonly falls: Falls
  /** The same of sessions that the server forgot, which are no falls. */
  readonly forgotten: Falls
  /** When the first of these falls was. */
  readonly fellAt: number
  /** Starts since then that did not wait for their time. */
  readonly early: number
  /** Falls since it was last of use to anybody. */
  readonly inVain: number
  /** Starts that became necessary because it fell, or did not come up. */
  readonly restarts: number
  readonly lastTrouble: LastTrouble | undefined
  /** Why nothing new is begun on it, where it only ends what it has. */
  readonly leaving: string | undefined
}

interface LastTrouble extends Trouble {
  readonly at: number
  readonly isRefusal: boolean
  readonly isForgotten: boolean
  readonly isBusy: boolean
}

/** What happens to a connection. */
export type LifeEvent<S> =
  /** It is started soon, when it is its turn. */
  | { readonly what: 'announced' }
  /** Somebody needs it. */
  | { readonly what: 'wanted' }
  /** It has answered somebody what it is there for. */
  | { readonly what: 'served' }
  /** A call or a person wants to know whether it works. */
  | { readonly what: 'lookedAt' }
  /** The time to wait is over. */
  | ({ readonly what: 'due' } & Pick<Afterwards, 'isMissed'>)
  /** From outside it looks different: a repaired program, an open port. */
  | { readonly what: 'changedOutside' }
  | { readonly what: 'opened'; readonly start: number; readonly session: S; readonly note: string }
  | ({ readonly what: 'failed'; readonly start: number; readonly trouble: Trouble } & Afterwards)
  | ({ readonly what: 'fell'; readonly session: S } & Afterwards & { readonly end: ChannelEnd })
  /** Nobody has used it for long. */
  | { readonly what: 'unused'; readonly session: S }
  /** A person wants it anew. */
  | { readonly what: 'renewed' }
  /** Another one is there in its place, or none: what is under way on it may end, and nothing else. */
  | { readonly what: 'left'; readonly reason: string }
  | { readonly what: 'stopped'; readonly reason: string }

interface Afterwards {
  /** How the way to it ended, where that is known. */
  readonly end?: ChannelEnd | undefined
  /** For how long it asks to be left alone, where it is there. */
  readonly busyMs?: number | undefined
  /** Whether it is to come back by itself. */
  readonly isMissed: boolean
  /** From 0 to 1. */
  readonly luck: number
}

/** What is to be done about it. Whatever was waited or looked for before is over with every step. */
export type Deed<S> =
  | { readonly deed: 'open'; readonly start: number; readonly isAgain: boolean }
  | { readonly deed: 'giveUp'; readonly reason: string }
  /** What is in the way has to be gone before the next start. The end is for those whose calls it cuts off. */
  | { readonly deed: 'close'; readonly session: S; readonly isInTheWay: boolean; readonly end?: ChannelEnd }
  | { readonly deed: 'wait'; readonly ms: number }
  | { readonly deed: 'lookOutside'; readonly downSince: number }
  | { readonly deed: 'note'; readonly text: string }

export interface Step<S> {
  readonly life: Life<S>
  readonly deeds: readonly Deed<S>[]
}

/** What was refused for want of a login may be let in again without one: a proxy was down, a key was put back. */
export const LOGIN_RETRY_MS = 30_000
/** It may ask for a day, and be well long before. */
export const MOST_BUSY_MS = 60_000
/** Whoever needs it, or wants to know whether it works, has it started no more often than this: half of what a call waits. */
export const LOOK_STARTS_MS = 5_000
/**
 * One that has fallen so often without an answer to any call is left to its pauses by calls. These are longer by now than
 * recovering lasts, so its tools leave the list: they would stay there for ever if it came and fell for each call.
 */
export const MOST_IN_VAIN = 7
/** Nobody has more new sessions made than one in this time, however soon the server forgets them. */
export const ANEW_MS = 500
/** A file that changes all the time, such as a log, is no sign of repair: after so many starts in vain it counts as none. */
export const MOST_EARLY = 10

/** Why one does not answer that waits for its turn to be started. */
export const ANNOUNCED = 'It is about to be started.'

/** One that nobody has started yet. */
export function newLife<S>(now: number): Life<S> {
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

/** What an event makes of it. What has no meaning where it stands leaves it as it is, the very same. */
export function next<S>(life: Life<S>, event: LifeEvent<S>, now: number): Step<S> {
  const { kind } = life
  if (kind === 'stopped') return stay(life)
  if (life.leaving !== undefined) return departing(life, event, { reason: life.leaving, now })
  switch (event.what) {
    case 'announced':
      return kind === 'idle' && life.start === 0 ? announced(life, now) : stay(life)
    case 'wanted':
      if (kind === 'idle' || isAnnounced(life)) return needed(life, now)
      // Whoever was turned away may be let in by now, and only a start finds out.
      if (kind === 'needsLogin') return hurried(life, now)
      return mayBeHurried(life) && life.inVain <= MOST_IN_VAIN ? hurried(life, now) : stay(life)
    case 'served':
      return kind === 'up' && life.inVain > 0 ? { life: { ...life, inVain: 0 }, deeds: [] } : stay(life)
    case 'lookedAt':
      if (isAnnounced(life)) return started(life, now)
      return mayBeHurried(life) || kind === 'needsLogin' ? hurried(life, now) : stay(life)
    case 'due':
      if (life.nextStartAt === undefined) return stay(life)
      return event.isMissed ? started(life, now) : resting(life, now)
    case 'changedOutside':
      return kind === 'waiting' ? started({ ...life, early: life.early + 1 }, now) : stay(life)
    case 'opened':
      return isComing(life, event) ? opened(life, event, now) : stay(life)
    case 'failed':
      return isComing(life, event) ? failed(life, event, now) : stay(life)
    case 'fell':
      return life.session === event.session ? fell(life, event, now) : stay(life)
    case 'unused':
      return life.session === event.session ? asleep(life, event.session, now) : stay(life)
    case 'renewed':
      return renewed(life, now)
    case 'left':
      return kind === 'up' ? { life: { ...life, leaving: event.reason }, deeds: [] } : ended(life, event.reason, now)
    case 'stopped':
      return ended(life, event.reason, now)
  }
}

function stay<S>(life: Life<S>): Step<S> {
  return { life, deeds: [] }
}

function isComing<S>(life: Life<S>, { start }: { readonly start: number }): boolean {
  return life.kind === 'starting' && life.start === start
}

/** Whether that is all that is known to be wrong with it. */
export function isOnly<S>({ why, lastTrouble }: Life<S>, what: 'isForgotten' | 'isBusy'): boolean {
  return lastTrouble !== undefined && why === lastTrouble && lastTrouble[what]
}

type Place = Pick<Life<unknown>, 'kind' | 'why'> & { readonly nextStartAt?: number }

function moved<S>(life: Life<S>, place: Place, now: number): Life<S> {
  return { ...life, nextStartAt: undefined, session: undefined, ...place, since: now }
}

/** Whether it is to be started, and nothing has been done about it yet. */
function isAnnounced<S>({ kind, start }: Life<S>): boolean {
  return kind === 'starting' && start === 0
}

/** To everybody else it is being started. Whoever needs it does not wait for its turn. */
function announced<S>(life: Life<S>, now: number): Step<S> {
  return { life: moved(life, { kind: 'starting', why: { reason: ANNOUNCED } }, now), deeds: [] }
}

/** One that forgets each session at once would be met without end. */
function needed<S>(life: Life<S>, now: number): Step<S> {
  return isOnly(life, 'isForgotten') ? startedFrom(life, life.startedAt + ANEW_MS, now) : started(life, now)
}

/** What asks to be left alone is. */
function mayBeHurried<S>(life: Life<S>): boolean {
  return life.kind === 'waiting' && !isOnly(life, 'isBusy')
}

/** Somebody cannot wait for the end of a long pause, and one that falls all the time is not started all the time. */
function hurried<S>(life: Life<S>, now: number): Step<S> {
  const step = startedFrom(life, life.startedAt + LOOK_STARTS_MS, now)
  const isShortened = step.life !== life && step.life.kind === 'waiting'
  return isShortened ? { ...step, deeds: [...step.deeds, ...outsideLook(life)] } : step
}

/** At once, where that time has come; and then, where it would be started later. */
function startedFrom<S>(life: Life<S>, time: number, now: number): Step<S> {
  const at = Math.round(time)
  if (now >= at) return started(life, now)
  if (life.nextStartAt !== undefined && life.nextStartAt <= at) return stay(life)
  return { life: { ...life, nextStartAt: at }, deeds: [{ deed: 'wait', ms: at - now }] }
}

function started<S>(life: Life<S>, now: number): Step<S> {
  const hasFallen = life.falls.count > 0
  // What went wrong last says more than that it is tried again.
  const why = hasFallen && life.lastTrouble ? life.lastTrouble : { reason: 'It was started and has not answered yet.' }
  const start = life.start + 1
  const restarts = life.restarts + (hasFallen && life.kind !== 'needsLogin' ? 1 : 0)
  const next = { ...moved(life, { kind: 'starting', why }, now), start, startedAt: now, restarts }
  return { life: next, deeds: [{ deed: 'open', start, isAgain: hasFallen }] }
}

function opened<S>(life: Life<S>, { session, note }: { session: S; note: string }, now: number): Step<S> {
  // How it calls itself is its own word, and models read this.
  const next = moved(life, { kind: 'up', why: { reason: 'It answers.' } }, now)
  // Whoever is let in has signed in, or has another key by now.
  const lastTrouble = life.lastTrouble?.isRefusal ? undefined : life.lastTrouble
  return { life: { ...next, session, lastTrouble }, deeds: [{ deed: 'note', text: note }] }
}

function failed<S>(life: Life<S>, event: Afterwards & { trouble: Trouble }, now: number): Step<S> {
  const fellAt = life.falls.count === 0 ? { fellAt: now, early: 0 } : {}
  return down(counted({ ...life, ...fellAt, falls: afterFailedStart(life.falls) }), event, now)
}

function fell<S>(life: Life<S>, event: Afterwards & { session: S; end: ChannelEnd }, now: number): Step<S> {
  const livedMs = now - life.since
  const isForgotten = event.end.kind === 'sessionLost'
  const falls = (isForgotten ? afterForgotten : afterFall)(life.falls, livedMs)
  const fellAt = falls.count === 1 ? { fellAt: now, early: 0 } : {}
  const forgotten = isForgotten ? afterFall(life.forgotten, livedMs) : life.forgotten
  const after = down(
    counted({ ...life, ...fellAt, falls, forgotten }),
    { ...event, trouble: event.end, isForgotten },
    now,
  )
  // What has exited by itself is in nobody's way; what it started is cleared away meanwhile.
  const isInTheWay = event.end.kind !== 'exited'
  const close: Deed<S> = { deed: 'close', session: event.session, isInTheWay, end: event.end }
  return { ...after, deeds: [close, ...after.deeds] }
}

/** A life that lasted has begun the count anew. */
function counted<S>(life: Life<S>): Life<S> {
  return { ...life, inVain: Math.min(life.inVain + 1, life.falls.count) }
}

type Down = Afterwards & { readonly trouble: Trouble; readonly isForgotten?: boolean }

function down<S>(life: Life<S>, event: Down, now: number): Step<S> {
  const { isForgotten = false, trouble, end } = event
  const { reason, said } = trouble
  const isBusy = event.busyMs !== undefined
  const why = { reason, said, at: Math.round(now), isRefusal: end?.kind === 'unauthorized', isForgotten, isBusy }
  const told = { ...life, lastTrouble: why }
  const missed = () => (isForgotten ? reopening(told, event, now) : waiting(told, event, now))
  // What asks to be left alone is, whoever needs it next.
  const after = event.isMissed || isBusy ? missed() : resting(told, now)
  return { ...after, deeds: [{ deed: 'note', text: forPeople(why) }, ...after.deeds] }
}

/** Nobody misses it, and the next who needs it starts it. */
function resting<S>(life: Life<S>, now: number): Step<S> {
  return { life: moved(life, { kind: 'idle', why: life.lastTrouble ?? life.why }, now), deeds: [] }
}

/** It is there, so it is up for whoever needs it. Before anybody does it is met ever later, in case that it keeps no session. */
function reopening<S>(life: Life<S>, { luck }: Afterwards, now: number): Step<S> {
  const ms = delayAfter(life.forgotten, () => luck)
  if (ms === 0) return started(life, now)
  const after = { ...resting(life, now).life, nextStartAt: Math.round(now + ms) }
  return { life: after, deeds: [{ deed: 'wait', ms }] }
}

function waiting<S>(life: Life<S>, { end, luck, busyMs }: Afterwards, now: number): Step<S> {
  const why = life.lastTrouble ?? life.why
  // What was let in until now may be let in again, with other credentials: that is found out at once.
  const needsLogin = end?.kind === 'unauthorized' && life.falls.count > 1
  const delayMs = Math.max(
    delayAfter(life.falls, () => luck),
    Math.min(busyMs ?? 0, MOST_BUSY_MS),
  )
  const ms = needsLogin ? LOGIN_RETRY_MS : delayMs
  if (ms === 0) return started(life, now)
  const kind = needsLogin ? 'needsLogin' : 'waiting'
  const after = moved(life, { kind, why, nextStartAt: Math.round(now + ms) }, now)
  return { life: after, deeds: [{ deed: 'wait', ms }, ...outsideLook(after)] }
}

/** Whoever waits for a person, or asks to be left alone, shows nothing from outside that would tell more. */
function outsideLook<S>(life: Life<S>): Deed<S>[] {
  const { kind, early, fellAt } = life
  if (kind === 'needsLogin' || isOnly(life, 'isBusy') || early >= MOST_EARLY) return []
  return [{ deed: 'lookOutside', downSince: fellAt }]
}

function asleep<S>(life: Life<S>, session: S, now: number): Step<S> {
  const why = { reason: 'It was not used and starts again when it is needed.' }
  const after = { ...moved(life, { kind: 'idle', why }, now), falls: NO_FALLS }
  return { life: after, deeds: [{ deed: 'close', session, isInTheWay: true }] }
}

function renewed<S>(life: Life<S>, now: number): Step<S> {
  const after = started({ ...life, falls: NO_FALLS, forgotten: NO_FALLS }, now)
  return { ...after, deeds: [...left(life, 'It is started anew.'), ...after.deeds] }
}

function ended<S>(life: Life<S>, reason: string, now: number): Step<S> {
  return { life: moved(life, { kind: 'stopped', why: { reason } }, now), deeds: left(life, reason) }
}

/** It is not started again for anything. What its server may still answer after it has ended is waited for. */
function departing<S>(life: Life<S>, event: LifeEvent<S>, { reason, now }: { reason: string; now: number }): Step<S> {
  if (event.what === 'stopped') return ended(life, event.reason, now)
  if (event.what === 'unused' || event.what === 'renewed') return ended(life, reason, now)
  if (event.what !== 'fell' || event.session !== life.session) return stay(life)
  const close: Deed<S> = { deed: 'close', session: event.session, isInTheWay: true, end: event.end }
  return { life: moved(life, { kind: 'stopped', why: { reason } }, now), deeds: [close] }
}

/** What is under way is given up, and what is there is ended. */
function left<S>({ kind, session }: Life<S>, reason: string): Deed<S>[] {
  if (kind === 'starting') return [{ deed: 'giveUp', reason }]
  return session === undefined ? [] : [{ deed: 'close', session, isInTheWay: true, end: { kind: 'closed', reason } }]
}
