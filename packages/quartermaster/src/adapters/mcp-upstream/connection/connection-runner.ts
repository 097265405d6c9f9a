import type { Cancel, CancelSignal, Clock, Random } from '../../../core/kernel/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import { beforeAbort, pause } from '../peer/abort.ts'
import { busyMsOf, type ChannelEnd, ChannelFailure, isShut, SendFailure, troubleOf } from '../peer/channel.ts'
import type { Session } from '../peer/session.ts'
import { type Action, type Machine, type MachineEvent, newMachine, next } from './connection-state-machine.ts'

/** Runs the state machine of a connection: feeds it events and carries out its actions. */
export interface Runner {
  machine(): Machine<Session>
  tell(event: MachineEvent<Session>): void
  /** The session ended. */
  fell(session: Session, end: ChannelEnd): void
  /** Requests in progress, including those accepted by a server that has since revoked access. */
  busy(): number
  stop(reason: string): Promise<void>
  /** Later, unless the state has changed by then. */
  later(ms: number, task: () => void): void
  /** Resolves when the state changes or the signal aborts. Waiting counts as wanting the connection back. */
  moved(signal: CancelSignal): Promise<void>
}

export interface RunnerDeps {
  readonly clock: Clock
  readonly random: Random
  startMs(): number
  /** Whether it is kept up at all times, or only while someone waits for it. */
  readonly isKept: boolean
  /** Whether a subscriber waits for notifications although no request is open. */
  isWatched(): boolean
  /** Connects and does what has to be done before the first request. */
  open(signal: AbortSignal): Promise<Session>
  /** What the program printed in place of messages, if it has not sent any yet. */
  noise(): string | undefined
  /** What can be seen of the server from outside, cheaply: a changed value means that starting may work now. */
  fingerprint(): Promise<string>
  onChange(): void
  note(text: string): void
}

export function createRunner(deps: RunnerDeps & { onUp(session: Session): void }): Runner {
  const { clock, random, isKept, isWatched, onChange } = deps
  let machine = newMachine<Session>(clock.now())
  const timers = createTimers(clock)
  const watchers = new Set<() => void>()
  const isMissed = () => isKept || isWatched() || watchers.size > 0
  const afterwards = () => ({ isMissed: isMissed(), luck: random() })
  const due = () => void tell({ what: 'due', isMissed: isMissed() })
  const actionRunner = createActionRunner(deps, { timers, tell, fell, failed, due })

  function tell(event: MachineEvent<Session>): boolean {
    const step = next(machine, event, clock.now())
    if (step.machine === machine) return false
    const isSame = step.machine.session !== undefined && step.machine.session === machine.session
    machine = step.machine
    // What a session is watched for goes on as long as the session.
    if (!isSame) timers.clear()
    for (const action of step.actions) actionRunner.carryOut(action)
    // A restart does not wait for answers from the session before.
    if (event.what === 'renewed') actionRunner.cutOff()
    if (event.what === 'opened') deps.onUp(event.session)
    onChange()
    for (const see of [...watchers]) see()
    return true
  }

  function fell(session: Session, end: ChannelEnd): void {
    tell({ what: 'fell', session, end, ...afterwards() })
  }

  function failed(start: number, error: unknown): void {
    tell({
      what: 'failed',
      start,
      trouble: troubleOf(error),
      end: endOf(error),
      busyMs: error instanceof SendFailure ? busyMsOf(error) : undefined,
      ...afterwards(),
    })
  }

  return {
    machine: () => machine,
    tell: event => void tell(event),
    fell,
    busy: () => (machine.session?.busy() ?? 0) + actionRunner.finishing(),
    async stop(reason) {
      tell({ what: 'stopped', reason })
      actionRunner.cutOff()
      await actionRunner.settled()
    },
    later: timers.later,
    moved: signal => once(watchers, signal),
  }
}

interface Timers {
  later(ms: number, task: () => void): void
  add(cancel: Cancel): void
  clear(): void
}

function createTimers(clock: Clock): Timers {
  const cancels = new Set<Cancel>()
  return {
    later(ms, task) {
      const cancel = clock.after(ms, () => {
        cancels.delete(cancel)
        task()
      })
      cancels.add(cancel)
    },
    add: cancel => void cancels.add(cancel),
    clear() {
      for (const cancel of cancels) cancel()
      cancels.clear()
    },
  }
}

interface Ears {
  readonly timers: Timers
  tell(event: MachineEvent<Session>): boolean
  fell(session: Session, end: ChannelEnd): void
  failed(start: number, error: unknown): void
  due(): void
}

/** Carries out the actions of the state machine. */
interface ActionRunner {
  carryOut(action: Action<Session>): void
  /** How many requests a server that revoked access may still answer. */
  finishing(): number
  /** Ends sessions that are still finishing. */
  cutOff(): void
  /** Resolves when nothing is being opened or ended. */
  settled(): Promise<unknown>
}

function createActionRunner(deps: RunnerDeps, ears: Ears): ActionRunner {
  const { fingerprint, note } = deps
  const { timers, tell, due } = ears
  const openings = createConnectAttempts(deps)
  const closings = createClosingSessions()
  const lookOutside = createChangeWatch(deps)
  /** How it looked at the last start: it may have been repaired while that start failed. */
  let before: Promise<string> | undefined

  const actions: { readonly [D in Action<Session> as D['action']]: (action: D) => void } = {
    open({ start, isAgain }) {
      before = isAgain ? fingerprint() : undefined
      // A caller that needs it handles the error.
      before?.catch(() => {})
      openings.begin(attemptEventsFor(start, ears))
    },
    giveUp: ({ reason }) => openings.giveUp(reason),
    close({ session, isInTheWay, end }) {
      const closing = closings.add(session, end)
      if (isInTheWay) openings.waitFor(closing)
    },
    wait: ({ ms }) => timers.later(ms, due),
    lookOutside({ downSince }) {
      const onChanged = () => void tell({ what: 'changedOutside' })
      timers.add(lookOutside({ before, downSince, onChanged }))
    },
    note: ({ text }) => note(text),
  }

  return {
    carryOut: action => (actions[action.action] as (action: Action<Session>) => void)(action),
    finishing: closings.finishing,
    cutOff: closings.cutOff,
    settled: () => Promise.all([openings.settled(), closings.settled()]),
  }
}

function attemptEventsFor(start: number, { tell, fell, failed }: Ears): AttemptEvents {
  return {
    onOpened(session) {
      if (!tell({ what: 'opened', start, session, note: greetingOf(session) })) return false
      void session.ended.then(end => fell(session, end))
      return true
    },
    onFailed: error => failed(start, error),
  }
}

interface ClosingSessions {
  add(session: Session, end: ChannelEnd | undefined): Promise<void>
  /** How many requests are left on sessions that are shut. */
  finishing(): number
  /** Ends the shut sessions, which may still answer requests they accepted. */
  cutOff(): void
  settled(): Promise<unknown>
}

function createClosingSessions(): ClosingSessions {
  const closings = new Set<Promise<void>>()
  const finishing = new Set<Session>()

  function close(session: Session, end: ChannelEnd | undefined): Promise<void> {
    const closing: Promise<void> = session
      .close(end)
      // Nothing more can be done about it.
      .catch(() => {})
      .finally(() => closings.delete(closing))
    closings.add(closing)
    return closing
  }

  return {
    add(session, end) {
      for (const one of finishing) if (one.busy() === 0) finishing.delete(one)
      if (end && isShut(end)) finishing.add(session)
      return close(session, end)
    },
    finishing: () => [...finishing].reduce((sum, one) => sum + one.busy(), 0),
    cutOff() {
      for (const one of finishing) void close(one, undefined)
      finishing.clear()
    },
    settled: () => Promise.all(closings),
  }
}

function greetingOf({ facts: { server, version } }: Session): string {
  return `Connected to ${server.name} ${server.version} (MCP ${version}).`
}

function endOf(error: unknown): ChannelEnd | undefined {
  if (error instanceof ChannelFailure) return error.end
  return error instanceof SendFailure && error.status === 401
    ? { kind: 'unauthorized', reason: error.message }
    : undefined
}

function once(watchers: Set<() => void>, signal: CancelSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      watchers.delete(end)
      signal.removeEventListener('abort', end)
      resolve()
    }
    watchers.add(end)
    signal.addEventListener('abort', end, { once: true })
  })
}

/** Connection attempts, one at a time. */
interface ConnectAttempts {
  /** Begins when everything before has ended. */
  begin(attemptEvents: AttemptEvents): void
  giveUp(reason: string): void
  /** What is being ended has to be gone before the next attempt, so that there are never two. */
  waitFor(ending: Promise<unknown>): void
  /** Resolves when nothing is in progress, and what was cancelled is gone or could not be ended. */
  settled(): Promise<unknown>
}

interface AttemptEvents {
  /** Answers whether the session is still wanted. */
  onOpened(session: Session): boolean
  onFailed(error: unknown): void
}

interface ConnectAttemptsDeps {
  readonly clock: Clock
  /** How long an attempt that begins now may take. */
  startMs(): number
  open(signal: AbortSignal): Promise<Session>
  /** What the program printed in place of messages, if it has not sent any yet. */
  noise(): string | undefined
}

/** Longer than killing a program takes. Nothing is waited for beyond this. */
const GONE_MS = 10_000

function createConnectAttempts({ clock, startMs, open, noise }: ConnectAttemptsDeps): ConnectAttempts {
  let current = new AbortController()
  let last: Promise<unknown> = Promise.resolve()
  let ending: Promise<unknown> = Promise.resolve()

  async function attempt(
    before: Promise<unknown>,
    controller: AbortController,
    attemptEvents: AttemptEvents,
  ): Promise<void> {
    const { signal } = controller
    try {
      await before
      await beforeAbort(ending, signal)
      const session = await openInTime(controller)
      if (!attemptEvents.onOpened(session)) await session.close()
    } catch (error) {
      attemptEvents.onFailed(signal.aborted ? signal.reason : error)
    }
  }

  async function openInTime(controller: AbortController): Promise<Session> {
    const ms = startMs()
    const cancel = clock.after(ms, () => controller.abort(tooLate(ms, noise())))
    return openBefore(controller.signal).finally(cancel)
  }

  /**
   * An attempt ends when it is cancelled, whatever it waits for. A session that arrives later is closed, and gone
   * before the next attempt.
   */
  function openBefore(signal: AbortSignal): Promise<Session> {
    const coming = open(signal)
    const closed = coming.then(late => (signal.aborted ? late.close() : undefined))
    closed.catch(() => {})
    return beforeAbort(coming, signal).catch(error => {
      if (signal.aborted) ending = pause(GONE_MS, { clock, until: closed })
      throw error
    })
  }

  return {
    begin(attemptEvents) {
      current = new AbortController()
      last = attempt(last, current, attemptEvents)
    },
    giveUp: reason => current.abort(new Error(reason)),
    waitFor(next) {
      ending = next
    },
    // After this the server counts as gone and may be run elsewhere, so a cancelled session has to be gone too.
    settled: () => last.then(() => ending),
  }
}

/** A program that is no MCP server shows it by what it prints. */
function tooLate(ms: number, noise: string | undefined): Error {
  const reason = `It was not ready within ${ms / 1000} s`
  if (noise === undefined) return new Error(`${reason}.`)
  const said = excerptOf(noise, MOST_SAID)
  return new ChannelFailure({ kind: 'garbled', reason: `${reason}, and writes lines that are no messages.`, said })
}

/** A server that just fell may be back any moment; one that has been down for a while is checked less often. */
const SOON_MS = 100
const SOON_UNTIL_MS = 10_000
const EVERY_MS = 250
/** A slow check, such as one across a network, is repeated less often. */
const SELDOM_MS = 1_000
const PART_OF_THE_TIME = 50
/** The same file is not repaired during more consecutive starts than this. */
const MOST_REPAIRS = 2

interface ChangeWatchDeps {
  readonly clock: Clock
  /** What can be seen of a server from outside, cheaply: always the same number of words. */
  fingerprint(): Promise<string>
}

interface WatchedServer {
  readonly downSince: number
  /** How it looked at its last start, if that was checked. */
  readonly before?: Promise<string> | undefined
  /** It looks different now: a repaired program, an open port. */
  onChanged(): void
}

/** Watches a server that is down until it looks different. Answers how to stop. */
type ChangeWatch = (look: WatchedServer) => Cancel

export function createChangeWatch({ clock, fingerprint }: ChangeWatchDeps): ChangeWatch {
  /** Words that changed after the last starts, by position, and after how many starts in a row. */
  let restless: ReadonlyMap<number, number> = new Map()

  /** A word that changes with every start is the server's own doing, such as a log file in its arguments. */
  function isRepaired(known: string, seen: string): boolean {
    const timesBefore = (place: number) => restless.get(place) ?? 0
    const changed = placesOfChange(known, seen)
    const isRepair = changed.some(place => timesBefore(place) < MOST_REPAIRS)
    restless = new Map(changed.map(place => [place, timesBefore(place) + 1]))
    return isRepair
  }

  return ({ downSince, before, onChanged }) => {
    let isOver = false
    let cancel: Cancel = () => {}

    async function look(known: string): Promise<void> {
      const begunAt = clock.now()
      const seen = await fingerprint().catch(() => known)
      if (isOver) return
      if (seen === known) wait(known, clock.now() - begunAt)
      else onChanged()
    }

    function wait(known: string, tookMs: number): void {
      const soonest = clock.now() - downSince < SOON_UNTIL_MS ? SOON_MS : EVERY_MS
      const pauseMs = Math.min(SELDOM_MS, Math.max(soonest, tookMs * PART_OF_THE_TIME))
      cancel = clock.after(pauseMs, () => void look(known))
    }

    async function begin(): Promise<void> {
      const begunAt = clock.now()
      const known = await before?.catch(() => undefined)
      const seen = await fingerprint().catch(() => known ?? '')
      if (isOver) return
      if (known !== undefined && isRepaired(known, seen)) onChanged()
      else wait(seen, clock.now() - begunAt)
    }

    void begin()
    return () => {
      isOver = true
      cancel()
    }
  }
}

function placesOfChange(known: string, seen: string): number[] {
  const [before, after] = [known.split(' '), seen.split(' ')]
  return after.flatMap((word, place) => (word === before[place] ? [] : [place]))
}
