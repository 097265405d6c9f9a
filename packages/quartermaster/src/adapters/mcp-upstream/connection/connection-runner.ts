import type { Cancel, CancelSignal, Clock, Random } from '../../../core/kernel/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import { beforeAbort, pause } from '../peer/abort.ts'
import { busyMsOf, type ChannelEnd, ChannelFailure, errorReportOf, isShut, SendFailure } from '../peer/channel.ts'
import type { Session } from '../peer/session.ts'
import { type Action, type Machine, type MachineEvent, newMachine, next } from './connection-state-machine.ts'

/** Runs the state machine of a connection: dispatches events and executes its actions. */
export interface Runner {
  machine(): Machine<Session>
  dispatch(event: MachineEvent<Session>): void
  onSessionEnded(session: Session, end: ChannelEnd): void
  /** Open requests, including those accepted by a server that has since revoked access. */
  busy(): number
  stop(reason: string): Promise<void>
  /** Runs the task later, unless the state has changed by then. */
  later(ms: number, task: () => void): void
  /** Resolves when the state changes or the signal aborts. While someone waits, the connection is reconnected. */
  stateChanged(signal: CancelSignal): Promise<void>
}

export interface RunnerDeps {
  readonly clock: Clock
  readonly random: Random
  startMs(): number
  /** Whether the connection is kept up at all times, or only while someone waits for it. */
  readonly isKeptUp: boolean
  /** Whether a subscriber waits for notifications. */
  hasSubscribers(): boolean
  /** Connects, and prepares the session for its first request. */
  open(signal: AbortSignal): Promise<Session>
  /** What the program printed in place of messages, if it has not sent any. */
  stdoutNoise(): string | undefined
  /** What can be seen of the server from outside, cheaply: after a change starting may work. */
  fingerprint(): Promise<string>
  onChange(): void
  note(text: string): void
}

export function createRunner(deps: RunnerDeps & { onUp(session: Session): void }): Runner {
  const { clock, random, isKeptUp, hasSubscribers, onChange } = deps
  let machine = newMachine<Session>(clock.now())
  const timers = createTimers(clock)
  const watchers = new Set<() => void>()
  const isNeeded = () => isKeptUp || hasSubscribers() || watchers.size > 0
  const retryFacts = () => ({ isNeeded: isNeeded(), jitter: random() })
  const onTimerDue = () => void dispatch({ what: 'timerDue', isNeeded: isNeeded() })
  const actionRunner = createActionRunner(deps, { timers, dispatch, onSessionEnded, onConnectFailed, onTimerDue })

  function dispatch(event: MachineEvent<Session>): boolean {
    const step = next(machine, event, clock.now())
    if (step.machine === machine) return false
    const isSame = step.machine.session !== undefined && step.machine.session === machine.session
    machine = step.machine
    // Timers of a session last as long as the session.
    if (!isSame) timers.clear()
    for (const action of step.actions) actionRunner.execute(action)
    // A restart does not wait for answers from the session before.
    if (event.what === 'restart') actionRunner.abortFinishing()
    if (event.what === 'connected') deps.onUp(event.session)
    onChange()
    for (const see of [...watchers]) see()
    return true
  }

  function onSessionEnded(session: Session, end: ChannelEnd): void {
    dispatch({ what: 'sessionEnded', session, end, ...retryFacts() })
  }

  function onConnectFailed(start: number, error: unknown): void {
    dispatch({
      what: 'connectFailed',
      start,
      error: errorReportOf(error),
      end: endOf(error),
      busyMs: error instanceof SendFailure ? busyMsOf(error) : undefined,
      ...retryFacts(),
    })
  }

  return {
    machine: () => machine,
    dispatch: event => void dispatch(event),
    onSessionEnded,
    busy: () => (machine.session?.busy() ?? 0) + actionRunner.finishing(),
    async stop(reason) {
      dispatch({ what: 'stop', reason })
      actionRunner.abortFinishing()
      await actionRunner.settled()
    },
    later: timers.later,
    stateChanged: signal => nextChange(watchers, signal),
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

interface ActionEvents {
  readonly timers: Timers
  dispatch(event: MachineEvent<Session>): boolean
  onSessionEnded(session: Session, end: ChannelEnd): void
  onConnectFailed(start: number, error: unknown): void
  onTimerDue(): void
}

interface ActionRunner {
  execute(action: Action<Session>): void
  /** Requests that a server which revoked access may still answer. */
  finishing(): number
  abortFinishing(): void
  settled(): Promise<unknown>
}

function createActionRunner(deps: RunnerDeps, ears: ActionEvents): ActionRunner {
  const { fingerprint, note } = deps
  const { timers, dispatch, onTimerDue } = ears
  const connectAttempts = createConnectAttempts(deps)
  const closingSessions = createClosingSessions()
  const watchForChange = createChangeWatch(deps)
  /** The fingerprint at the last start: the server may have been repaired while that start failed. */
  let before: Promise<string> | undefined

  const actions: { readonly [D in Action<Session> as D['action']]: (action: D) => void } = {
    connect({ start, isAgain }) {
      before = isAgain ? fingerprint() : undefined
      before?.catch(() => {})
      connectAttempts.begin(attemptEventsFor(start, ears))
    },
    abandon: ({ reason }) => connectAttempts.abandon(reason),
    close({ session, blocksReconnect, end }) {
      const closing = closingSessions.add(session, end)
      if (blocksReconnect) connectAttempts.waitForClose(closing)
    },
    wait: ({ ms }) => timers.later(ms, onTimerDue),
    watchForChange({ downSince }) {
      const onChanged = () => void dispatch({ what: 'serverChanged' })
      timers.add(watchForChange({ before, downSince, onChanged }))
    },
    log: ({ text }) => note(text),
  }

  return {
    execute: action => (actions[action.action] as (action: Action<Session>) => void)(action),
    finishing: closingSessions.finishing,
    abortFinishing: closingSessions.abortFinishing,
    settled: () => Promise.all([connectAttempts.settled(), closingSessions.settled()]),
  }
}

function attemptEventsFor(start: number, { dispatch, onSessionEnded, onConnectFailed }: ActionEvents): AttemptEvents {
  return {
    onOpened(session) {
      if (!dispatch({ what: 'connected', start, session, note: connectedText(session) })) return false
      void session.ended.then(end => onSessionEnded(session, end))
      return true
    },
    onFailed: error => onConnectFailed(start, error),
  }
}

interface ClosingSessions {
  add(session: Session, end: ChannelEnd | undefined): Promise<void>
  /** Open requests on sessions that are shut. */
  finishing(): number
  /** Ends shut sessions, which may still answer requests they accepted. */
  abortFinishing(): void
  settled(): Promise<unknown>
}

function createClosingSessions(): ClosingSessions {
  const closings = new Set<Promise<void>>()
  const finishing = new Set<Session>()

  function close(session: Session, end: ChannelEnd | undefined): Promise<void> {
    const closing: Promise<void> = session
      .close(end)
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
    abortFinishing() {
      for (const one of finishing) void close(one, undefined)
      finishing.clear()
    },
    settled: () => Promise.all(closings),
  }
}

function connectedText({ facts: { server, version } }: Session): string {
  return `Connected to ${server.name} ${server.version} (MCP ${version}).`
}

function endOf(error: unknown): ChannelEnd | undefined {
  if (error instanceof ChannelFailure) return error.end
  return error instanceof SendFailure && error.status === 401
    ? { kind: 'unauthorized', reason: error.message }
    : undefined
}

function nextChange(watchers: Set<() => void>, signal: CancelSignal): Promise<void> {
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
  /** Connects once everything before has ended. */
  begin(attemptEvents: AttemptEvents): void
  abandon(reason: string): void
  /** The ending session has to be gone before the next attempt, so that there are never two. */
  waitForClose(ending: Promise<unknown>): void
  /** Resolves when no attempt is in progress, and cancelled ones are gone or could not be ended. */
  settled(): Promise<unknown>
}

interface AttemptEvents {
  onOpened(session: Session): boolean
  onFailed(error: unknown): void
}

interface ConnectAttemptsDeps {
  readonly clock: Clock
  startMs(): number
  open(signal: AbortSignal): Promise<Session>
  /** What the program printed in place of messages, if it has not sent any yet. */
  stdoutNoise(): string | undefined
}

/** Longer than killing a program takes. */
const GONE_MS = 10_000

function createConnectAttempts({ clock, startMs, open, stdoutNoise }: ConnectAttemptsDeps): ConnectAttempts {
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
    const cancel = clock.after(ms, () => controller.abort(startTimeout(ms, stdoutNoise())))
    return openUnlessAborted(controller.signal).finally(cancel)
  }

  /** A cancelled attempt ends at once. A session that arrives later is closed, and gone before the next attempt. */
  function openUnlessAborted(signal: AbortSignal): Promise<Session> {
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
    abandon: reason => current.abort(new Error(reason)),
    waitForClose(next) {
      ending = next
    },
    // After this the server may be run elsewhere, so a cancelled session has to be gone too.
    settled: () => last.then(() => ending),
  }
}

/** A program that is no MCP server shows that by what it prints. */
function startTimeout(ms: number, noise: string | undefined): Error {
  const reason = `It was not ready within ${ms / 1000} s`
  if (noise === undefined) return new Error(`${reason}.`)
  const said = excerptOf(noise, MOST_SAID)
  return new ChannelFailure({ kind: 'garbled', reason: `${reason}, and writes lines that are no messages.`, said })
}

/** A server that just crashed may be back any moment; one that has been down for a while is checked less often. */
const SOON_MS = 100
const SOON_UNTIL_MS = 10_000
const EVERY_MS = 250
/** A slow check, such as one across a network, is repeated less often. */
const SELDOM_MS = 1_000
const PART_OF_THE_TIME = 50
/** No file is repaired during more consecutive starts than this. */
const MOST_REPAIRS = 2

interface ChangeWatchDeps {
  readonly clock: Clock
  /** A cheap view of the server from outside, always with the same number of words. */
  fingerprint(): Promise<string>
}

interface WatchedServer {
  readonly downSince: number
  /** The fingerprint at its last start, if that was checked. */
  readonly before?: Promise<string> | undefined
  /** The fingerprint changed: a repaired program, an open port. */
  onChanged(): void
}

/** Watches a server that is down until its fingerprint changes. Returns how to stop. */
type ChangeWatch = (look: WatchedServer) => Cancel

export function createChangeWatch({ clock, fingerprint }: ChangeWatchDeps): ChangeWatch {
  /** Words of the fingerprint that changed after the last starts, by position, and after how many starts in a row. */
  let changingWords: ReadonlyMap<number, number> = new Map()

  /** A word that changes with every start is the server's own doing, such as a log file among its arguments. */
  function isRepaired(known: string, seen: string): boolean {
    const startsInARow = (place: number) => changingWords.get(place) ?? 0
    const changed = changedPositions(known, seen)
    const isRepair = changed.some(place => startsInARow(place) < MOST_REPAIRS)
    changingWords = new Map(changed.map(place => [place, startsInARow(place) + 1]))
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

function changedPositions(known: string, seen: string): number[] {
  const [before, after] = [known.split(' '), seen.split(' ')]
  return after.flatMap((word, place) => (word === before[place] ? [] : [place]))
}
