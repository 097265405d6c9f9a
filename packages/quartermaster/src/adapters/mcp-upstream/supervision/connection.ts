import { AppError, messageOf } from '../../../contracts/index.ts'
import type { ProbeVerdict } from '../../../core/catalogue/index.ts'
import type { Cancel, Clock, Random } from '../../../core/kernel/index.ts'
import { beforeAbort } from '../session/before-abort.ts'
import { type ChannelEnd, ChannelFailure, SendFailure } from '../session/channel.ts'
import type { Session } from '../session/session.ts'
import { afterFall, delayAfter, NO_FALLS } from './backoff.ts'
import { lookOutside } from './outside-look.ts'
import { ping } from './pinging.ts'

/** Where a connection stands, and why. */
export interface ConnectionState {
  /** `idle`: it starts when it is needed. `waiting`: it fell, and starts again at `nextStartAt`. */
  readonly kind: 'idle' | 'starting' | 'up' | 'waiting' | 'needsLogin' | 'stopped'
  readonly reason: string
  readonly since: number
  readonly nextStartAt?: number | undefined
  /** Since when it has not been up, after it fell. */
  readonly downSince?: number | undefined
}

/** A connection that is kept up. */
export interface Connection {
  state(): ConnectionState
  session(): Session | undefined
  readonly restarts: () => number
  readonly lastError: () => { message: string; at: number } | undefined
  /** Starts it, unless it runs. Waits for nothing. */
  start(): void
  /** The session, when there is one within the budget. Throws `DEPENDENCY_UNAVAILABLE`. */
  take(options: { budgetMs: number; signal: AbortSignal }): Promise<Session>
  /** Looks whether it works. */
  look(signal: AbortSignal): Promise<ProbeVerdict & { recovering?: boolean }>
  /** Something went wrong that may mean that the server hangs or is gone. Resolves when that is known. */
  suspect(session: Session): Promise<void>
  /** Ends what runs and starts anew, whatever it waited for. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export interface ConnectionDeps {
  readonly clock: Clock
  readonly random: Random
  /** The dependency this is, for errors. */
  readonly dependency: string
  readonly startMs: number
  /** Ended when unused for so long. */
  readonly idleMs: number | undefined
  /** Whether it is kept up for whoever may come, or only for those who wait for it. */
  readonly isKept: boolean
  /** Reaches the server, and does what has to be done before anybody uses it. */
  open(signal: AbortSignal): Promise<Session>
  /** What can be seen of the server from outside, cheaply: another value means that starting may work now. */
  fingerprint(): Promise<string>
  onChange(): void
  note(text: string): void
}

/** A server that does not answer this long, with nothing to do, hangs. */
export const HANG_MS = 5_000
/** With calls under way it may be too busy to answer, and ending it would end those too. */
export const BUSY_HANG_MS = 60_000
/** How often one that is at work is looked at whether it has nothing more to do. */
const SOONEST_IDLE_MS = 1_000
/** What was refused for want of a login may be let in again without one: a proxy was down, a key was put back. */
export const LOGIN_RETRY_MS = 30_000
/** In which a program that has ended is noticed to have. */
const MOMENT_MS = 250
/** Whoever was heard within this needs no look. */
const FRESH_MS = 1_000
/** A look from outside starts no more often than this. */
const LOOK_STARTS_MS = 5_000
/** A file that changes all the time, such as a log, is no sign of repair: after so many starts in vain it counts as none. */
export const MOST_EARLY = 10

export function createConnection(deps: ConnectionDeps): Connection {
  const { clock, random, dependency, startMs, idleMs, isKept, open, fingerprint, onChange, note } = deps
  let state: ConnectionState = { kind: 'idle', reason: 'It starts when it is needed.', since: clock.now() }
  let session: Session | undefined
  let falls = NO_FALLS
  let restarts = 0
  let lastError: { message: string; at: number } | undefined
  let attemptedAt = Number.NEGATIVE_INFINITY
  let downSince = 0
  /** Starts since it fell that did not wait for their time. */
  let early = 0
  let starting: AbortController | undefined
  let opening: Promise<void> = Promise.resolve()
  /** What is being ended; the next start waits for it, so that there are never two. */
  let ending: Promise<unknown> = Promise.resolve()
  let clearing: Promise<unknown> = Promise.resolve()
  const timers = new Set<Cancel>()
  const suspicions = new WeakMap<Session, Promise<void>>()
  const changes = new Set<() => void>()

  function move(kind: ConnectionState['kind'], reason: string, nextStartAt?: number): void {
    const isDown = falls.count > 0 && (kind === 'starting' || kind === 'waiting')
    state = { kind, reason, since: clock.now(), nextStartAt, downSince: isDown ? downSince : undefined }
    onChange()
    for (const tell of [...changes]) tell()
  }

  function clearTimers(): void {
    for (const cancel of timers) cancel()
    timers.clear()
  }

  function later(ms: number, task: () => void): void {
    const cancel = clock.after(ms, () => {
      timers.delete(cancel)
      task()
    })
    timers.add(cancel)
  }

  function attempt(): void {
    if (state.kind === 'starting' || state.kind === 'up' || state.kind === 'stopped') return
    opening = tryToOpen(opening)
  }

  async function tryToOpen(before: Promise<void>): Promise<void> {
    clearTimers()
    const controller = new AbortController()
    starting = controller
    attemptedAt = clock.now()
    // What went wrong last says more than that it is tried again.
    move('starting', falls.count > 0 && lastError ? lastError.message : 'It is starting.')
    const cancel = clock.after(startMs, () => controller.abort(tooSlow(startMs)))
    try {
      await Promise.all([before, ending])
      controller.signal.throwIfAborted()
      const opened = await openBefore(controller.signal)
      // Somebody wanted something else meanwhile.
      if (starting === controller) begin(opened)
      else await opened.close()
    } catch (error) {
      if (starting === controller) failed(controller.signal.aborted ? controller.signal.reason : error)
    } finally {
      cancel()
      if (starting === controller) starting = undefined
    }
  }

  /** Whatever it waits for, it is given up when it is to be; what comes of it later is closed. */
  function openBefore(signal: AbortSignal): Promise<Session> {
    const coming = open(signal)
    coming.then(late => (signal.aborted ? late.close() : undefined)).catch(() => {})
    return beforeAbort(coming, signal)
  }

  function begin(opened: Session): void {
    session = opened
    const since = clock.now()
    void opened.ended.then(end => fell(opened, end, clock.now() - since))
    const { server, version } = opened.facts
    note(`Connected to ${server.name} ${server.version} (MCP ${version}).`)
    move('up', `It answers as ${server.name} ${server.version}`.trim() + '.')
    watchIdleness(opened)
  }

  function failed(error: unknown): void {
    falls = afterFall(falls, 0)
    down(reasonOf(error), endOf(error))
  }

  function fell(which: Session, end: ChannelEnd, livedMs: number): void {
    if (session !== which) return
    session = undefined
    clearing = which.close().catch(() => {})
    // What has exited by itself is in nobody's way; what it started is cleared away meanwhile.
    if (end.kind !== 'exited') ending = clearing
    if (state.kind === 'stopped') return
    restarts++
    falls = afterFall(falls, livedMs)
    down(end.reason, end)
  }

  function down(reason: string, end: ChannelEnd | undefined): void {
    if (falls.count === 1) {
      downSince = clock.now()
      early = 0
    }
    lastError = { message: reason, at: Math.round(clock.now()) }
    note(reason)
    if (state.kind === 'stopped') return
    if (end?.kind === 'unauthorized') {
      move('needsLogin', reason, Math.round(clock.now() + LOGIN_RETRY_MS))
      return later(LOGIN_RETRY_MS, attempt)
    }
    if (!isKept && changes.size === 0) return move('idle', reason)
    const delay = delayAfter(falls, random)
    move('waiting', reason, Math.round(clock.now() + delay))
    if (delay === 0) return attempt()
    later(delay, attempt)
    if (early < MOST_EARLY) timers.add(lookOutside({ clock, downSince, fingerprint, onChanged: attemptEarly }))
  }

  function attemptEarly(): void {
    early++
    attempt()
  }

  function watchIdleness(which: Session, inMs = idleMs): void {
    if (idleMs === undefined || inMs === undefined) return
    later(inMs, () => {
      if (session !== which) return
      const left = which.usedAt() + idleMs - clock.now()
      if (which.busy() > 0 || left > 0) return watchIdleness(which, Math.max(left, SOONEST_IDLE_MS))
      void sleep(which)
    })
  }

  async function sleep(which: Session): Promise<void> {
    session = undefined
    clearTimers()
    falls = NO_FALLS
    move('idle', 'It was not used and starts again when it is needed.')
    ending = which.close().catch(() => {})
    await ending
  }

  function suspect(which: Session): Promise<void> {
    if (session !== which) return Promise.resolve()
    const known = suspicions.get(which) ?? examine(which).finally(() => suspicions.delete(which))
    suspicions.set(which, known)
    return known
  }

  async function examine(which: Session): Promise<void> {
    const heardBefore = which.heardAt()
    const found = await ping(which, { clock, withinMs: which.busy() > 0 ? BUSY_HANG_MS : HANG_MS })
    if (found === 'answers') return
    // How it ended says more than that it did, and is told in a moment.
    if (found === 'broken') await soon(which.ended)
    if (session !== which || which.heardAt() > heardBefore) return
    const reason = found === 'silent' ? 'It runs, but does not answer any more.' : 'The connection to it is broken.'
    fell(which, { kind: 'lost', reason }, clock.now() - state.since)
  }

  function soon(event: Promise<unknown>): Promise<unknown> {
    return Promise.race([event, new Promise<void>(resolve => void clock.after(MOMENT_MS, resolve))])
  }

  /** Resolves when the state has changed, or the signal says so. */
  function change(signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const end = () => {
        changes.delete(end)
        signal.removeEventListener('abort', end)
        resolve()
      }
      changes.add(end)
      signal.addEventListener('abort', end, { once: true })
    })
  }

  const connection: Connection = {
    state: () => state,
    session: () => session,
    restarts: () => restarts,
    lastError: () => lastError,
    start() {
      if (state.kind === 'idle') attempt()
    },
    async take({ budgetMs, signal }) {
      if (session) return session
      const enough = new AbortController()
      const cancel = clock.after(budgetMs, () => enough.abort())
      const either = AbortSignal.any([signal, enough.signal])
      try {
        for (;;) {
          if (state.kind === 'idle') attempt()
          const isHopeless = state.kind === 'stopped' || state.kind === 'needsLogin'
          if (session || isHopeless || either.aborted || budgetMs <= 0) break
          await change(either)
        }
      } finally {
        cancel()
      }
      signal.throwIfAborted()
      if (session) return session
      throw unavailable(dependency, state)
    },
    async look(signal) {
      const isDown = state.kind === 'waiting' || state.kind === 'needsLogin'
      if (isDown && clock.now() - attemptedAt >= LOOK_STARTS_MS) attempt()
      const which = session
      if (!which) return verdictOf(state)
      if (clock.now() - which.heardAt() < FRESH_MS) return verdictOf(state)
      if ((await ping(which, { clock, withinMs: HANG_MS, signal })) === 'answers') return verdictOf(state)
      // One that is at work may be unable to answer; that it hangs is found out by its calls.
      if (session === which && which.busy() > 0) return { up: true, reason: 'It is at work.' }
      void suspect(which)
      throw new Error('It did not answer.')
    },
    suspect,
    async restart() {
      if (state.kind === 'stopped') return
      const which = session
      session = undefined
      starting?.abort(new Error('It is started anew.'))
      starting = undefined
      clearTimers()
      falls = NO_FALLS
      move('idle', 'It is started anew.')
      if (which) ending = which.close().catch(() => {})
      attempt()
    },
    async stop() {
      const which = session
      session = undefined
      clearTimers()
      move('stopped', 'It was stopped.')
      starting?.abort(new Error('Quartermaster is stopping.'))
      starting = undefined
      await Promise.all([opening, ending, clearing, which?.close().catch(() => {})])
    },
  }
  return connection
}

function verdictOf({ kind, reason }: ConnectionState): ProbeVerdict & { recovering?: boolean } {
  if (kind === 'up' || kind === 'idle') return { up: true, reason }
  return kind === 'starting' ? { up: false, recovering: true, reason } : { up: false, reason }
}

function unavailable(dependency: string, { reason }: ConnectionState): AppError {
  return new AppError('DEPENDENCY_UNAVAILABLE', `"${dependency}" cannot be reached: ${reason}`, {
    details: { dependency },
  })
}

function tooSlow(ms: number): Error {
  return new Error(`It was not ready within ${ms / 1000} s.`)
}

function endOf(error: unknown): ChannelEnd | undefined {
  if (error instanceof ChannelFailure) return error.end
  return error instanceof SendFailure && error.status === 401
    ? { kind: 'unauthorized', reason: error.message }
    : undefined
}

function reasonOf(error: unknown): string {
  const text = messageOf(error)
  return /[.!?]$/.test(text) ? text : `${text}.`
}
