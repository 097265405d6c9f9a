import type { Cancel, CancelSignal, Clock, Random } from '../../../core/kernel/index.ts'
import { busyMsOf, type ChannelEnd, ChannelFailure, isShut, SendFailure } from '../session/channel.ts'
import type { Session } from '../session/session.ts'
import { troubleOf } from '../session/trouble.ts'
import { type Deed, type Life, type LifeEvent, newLife, next } from './life.ts'
import { createOpenings, type Hopes } from './openings.ts'
import { createOutsideLooks } from './outside-look.ts'

/** Leads the life of a connection: takes what happens, and does what follows from it. */
export interface Runner {
  life(): Life<Session>
  tell(event: LifeEvent<Session>): void
  /** It is over with it, whoever found that out. */
  fell(session: Session, end: ChannelEnd): void
  /** How many requests are under way, also of those that were let in by a server which lets nobody in any more. */
  busy(): number
  /** For good, and at once. */
  stop(reason: string): Promise<void>
  /** In a while, unless it stands elsewhere by then. */
  later(ms: number, task: () => void): void
  /** Resolves when it stands elsewhere, or the signal says so. Whoever waits wants it back. */
  moved(signal: CancelSignal): Promise<void>
}

export interface RunnerDeps {
  readonly clock: Clock
  readonly random: Random
  startMs(): number
  /** Whether it is kept up for whoever may come, or only for those who wait for it. */
  readonly isKept: boolean
  /** Whether somebody waits to be told of changes, although nothing is asked. */
  isWatched(): boolean
  /** Reaches the server, and does what has to be done before anybody uses it. */
  open(signal: AbortSignal): Promise<Session>
  /** What its program has written in place of messages, if it has not sent one yet. */
  noise(): string | undefined
  /** What can be seen of the server from outside, cheaply: another value means that starting may work now. */
  fingerprint(): Promise<string>
  onChange(): void
  note(text: string): void
}

export function createRunner(deps: RunnerDeps & { onUp(session: Session): void }): Runner {
  const { clock, random, isKept, isWatched, onChange } = deps
  let life = newLife<Session>(clock.now())
  const timers = createTimers(clock)
  const watchers = new Set<() => void>()
  const isMissed = () => isKept || isWatched() || watchers.size > 0
  const afterwards = () => ({ isMissed: isMissed(), luck: random() })
  const due = () => void tell({ what: 'due', isMissed: isMissed() })
  const hands = createHands(deps, { timers, tell, fell, failed, due })

  function tell(event: LifeEvent<Session>): boolean {
    const step = next(life, event, clock.now())
    if (step.life === life) return false
    const isSame = step.life.session !== undefined && step.life.session === life.session
    life = step.life
    // What a session is watched for goes on for as long as it does.
    if (!isSame) timers.clear()
    for (const deed of step.deeds) hands.carryOut(deed)
    // Whoever wants it anew does not mean to wait for what the one before may still answer.
    if (event.what === 'renewed') hands.cutOff()
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
    life: () => life,
    tell: event => void tell(event),
    fell,
    busy: () => (life.session?.busy() ?? 0) + hands.finishing(),
    async stop(reason) {
      tell({ what: 'stopped', reason })
      hands.cutOff()
      await hands.settled()
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
  tell(event: LifeEvent<Session>): boolean
  fell(session: Session, end: ChannelEnd): void
  failed(start: number, error: unknown): void
  /** The time to wait is over. */
  due(): void
}

/** What does the deeds. */
interface Hands {
  carryOut(deed: Deed<Session>): void
  /** How many requests a server may still answer that lets nobody in any more. */
  finishing(): number
  /** Leaves no time to what is finishing. */
  cutOff(): void
  /** Resolves when nothing is being opened or ended. */
  settled(): Promise<unknown>
}

function createHands(deps: RunnerDeps, ears: Ears): Hands {
  const { fingerprint, note } = deps
  const { timers, tell, due } = ears
  const openings = createOpenings(deps)
  const closings = createClosings()
  const lookOutside = createOutsideLooks(deps)
  /** How it looked when it was last started: it may have been repaired while that failed. */
  let before: Promise<string> | undefined

  const deeds: { readonly [D in Deed<Session> as D['deed']]: (deed: D) => void } = {
    open({ start, isAgain }) {
      before = isAgain ? fingerprint() : undefined
      // Whoever looks at it minds.
      before?.catch(() => {})
      openings.begin(hopesFor(start, ears))
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
    carryOut: deed => (deeds[deed.deed] as (deed: Deed<Session>) => void)(deed),
    finishing: closings.finishing,
    cutOff: closings.cutOff,
    settled: () => Promise.all([openings.settled(), closings.settled()]),
  }
}

function hopesFor(start: number, { tell, fell, failed }: Ears): Hopes {
  return {
    onOpened(session) {
      if (!tell({ what: 'opened', start, session, note: greetingOf(session) })) return false
      void session.ended.then(end => fell(session, end))
      return true
    },
    onFailed: error => failed(start, error),
  }
}

interface Closings {
  /** Resolves when nothing of it is left. */
  add(session: Session, end: ChannelEnd | undefined): Promise<void>
  /** How many requests those have that are shut. */
  finishing(): number
  /** Ends those that are shut, and may still be answered what they have let in. */
  cutOff(): void
  settled(): Promise<unknown>
}

function createClosings(): Closings {
  const closings = new Set<Promise<void>>()
  const finishing = new Set<Session>()

  function close(session: Session, end: ChannelEnd | undefined): Promise<void> {
    const closing: Promise<void> = session
      .close(end)
      // There is nothing more that could be done about it.
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
