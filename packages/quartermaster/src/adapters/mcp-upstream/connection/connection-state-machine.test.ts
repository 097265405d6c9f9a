import { describe, expect, it } from 'vitest'
import type { ChannelEnd } from '../peer/channel.ts'
import {
  DELAYS_MS,
  LOGIN_RETRY_MS,
  type Machine,
  type MachineEvent,
  MOST_BUSY_MS,
  MOST_EARLY_STARTS,
  newMachine,
  next,
  STABLE_MS,
} from './connection-state-machine.ts'

type Event = MachineEvent<string>
type Kind = Machine<string>['kind']

const NOW = 1_000_000
const LATER = NOW + 60_000
const EXITED: ChannelEnd = { kind: 'exited', reason: 'It ended with exit code 1.' }
const LOST: ChannelEnd = { kind: 'lost', reason: 'The connection to it is broken.' }
const FORGOTTEN: ChannelEnd = { kind: 'sessionLost', reason: 'The server has forgotten the session.' }
const REFUSED: ChannelEnd = { kind: 'unauthorized', reason: 'A person has to sign in.' }

const WANTED: Event = { what: 'requested' }
const LOOKED_AT: Event = { what: 'probed' }
const DUE: Event = { what: 'timerDue', isNeeded: true }
const CHANGED: Event = { what: 'serverChanged' }
const RENEWED: Event = { what: 'restart' }
const STOPPED: Event = { what: 'stop', reason: 'It was removed.' }
const UNUSED: Event = { what: 'idleTimeout', session: 's1' }
const opened = (start: number): Event => ({ what: 'connected', start, session: `s${start}`, note: 'Connected.' })
const failed = (start: number, end = EXITED, isNeeded = true): Event => ({
  what: 'connectFailed',
  start,
  error: end,
  end,
  isNeeded,
  jitter: 1,
})
const fell = (session: string, end = EXITED, isNeeded = true): Event => ({
  what: 'sessionEnded',
  session,
  end,
  isNeeded,
  jitter: 1,
})

/** What becomes of one to which all this happens, at the times given. */
function after(...events: readonly (Event | readonly [Event, number])[]): Machine<string> {
  return events.reduce<Machine<string>>((machine, one) => {
    const [event, now] = 'what' in one ? [one, NOW] : one
    return next(machine, event, now).machine
  }, newMachine<string>(NOW))
}

/** Each place a connection can stand at; the numbers are those of its start. */
const PLACES: Record<Kind, Machine<string>> = {
  idle: newMachine<string>(NOW),
  starting: after(WANTED),
  up: after(WANTED, opened(1)),
  waiting: after(WANTED, failed(1)),
  needsLogin: after(WANTED, failed(1, REFUSED)),
  stopped: after(STOPPED),
}

const ALL: Record<string, Event> = {
  wanted: WANTED,
  'looked at': LOOKED_AT,
  due: DUE,
  'changed outside': CHANGED,
  opened: opened(1),
  'opened by an earlier start': opened(0),
  failed: failed(1),
  'failed by an earlier start': failed(0),
  fell: fell('s1'),
  'fell, an earlier one': fell('s0'),
  unused: UNUSED,
  'unused, an earlier one': { what: 'idleTimeout', session: 's0' },
  renewed: RENEWED,
  stopped: STOPPED,
}

/** Where each event leads from each place. Whatever is not named leaves it as it is. */
const LEADS: Record<Kind, Record<string, Kind>> = {
  idle: { wanted: 'starting', renewed: 'starting', stopped: 'stopped' },
  starting: { opened: 'up', failed: 'waiting', renewed: 'starting', stopped: 'stopped' },
  up: { fell: 'starting', unused: 'idle', renewed: 'starting', stopped: 'stopped' },
  waiting: {
    wanted: 'starting',
    'looked at': 'starting',
    due: 'starting',
    'changed outside': 'starting',
    renewed: 'starting',
    stopped: 'stopped',
  },
  needsLogin: { wanted: 'starting', 'looked at': 'starting', due: 'starting', renewed: 'starting', stopped: 'stopped' },
  stopped: {},
}

const CASES = Object.entries(PLACES).flatMap(([from, machine]) =>
  Object.entries(ALL).map(([name, event]) => ({ from, name, machine, event, to: LEADS[from as Kind][name] })),
)

describe('a connection that is', () => {
  it.each(CASES.filter(({ to }) => to !== undefined))('$from and is $name is then $to', ({ machine, event, to }) => {
    const step = next(machine, event, LATER)
    expect(step.machine).toMatchObject({ kind: to, since: LATER })
    expect(step.machine.session !== undefined).toBe(to === 'up')
  })

  it.each(CASES.filter(({ to }) => to === undefined))(
    '$from is left as it is when it is $name',
    ({ machine, event }) => {
      const step = next(machine, event, LATER)
      expect(step.machine).toBe(machine)
      expect(step.actions).toEqual([])
    },
  )
})

describe('what is done', () => {
  const deedsOf = (machine: Machine<string>, event: Event, now = LATER) => next(machine, event, now).actions
  it('about one that exited is to start it at once; what else fell is out of the way before', () => {
    const open = { action: 'connect', start: 2, isAgain: true }
    const close = { action: 'close', session: 's1' }
    expect(deedsOf(PLACES.up, fell('s1'))).toEqual([
      { ...close, blocksReconnect: false, end: EXITED },
      { action: 'log', text: EXITED.reason },
      open,
    ])
    expect(deedsOf(PLACES.up, fell('s1', LOST))).toEqual([
      { ...close, blocksReconnect: true, end: LOST },
      { action: 'log', text: LOST.reason },
      open,
    ])
  })

  const open = (start: number) => ({ action: 'connect', start, isAgain: true })

  it('about one that has forgotten a session is to make another, the first time at once', () => {
    expect(deedsOf(PLACES.up, fell('s1', FORGOTTEN)).slice(2)).toEqual([open(2)])
    const again = after(WANTED, opened(1), fell('s1', FORGOTTEN), opened(2))
    expect(deedsOf(again, fell('s2', FORGOTTEN), NOW + 4_999).slice(2)).toEqual([{ action: 'wait', ms: DELAYS_MS[1] }])
    expect(deedsOf(again, fell('s2', FORGOTTEN), NOW + STABLE_MS).slice(2)).toEqual([open(3)])
  })
  it('about one that wants a person is to wait for long, and not to look at it from outside', () => {
    expect(deedsOf(PLACES.starting, failed(1, REFUSED)).slice(1)).toEqual([{ action: 'wait', ms: LOGIN_RETRY_MS }])
  })

  it.each([true, false])(
    'about one that is busy is to wait for as long as it asks and no more (missed: %s)',
    isNeeded => {
      const busy = (busyMs: number): Event => ({ ...failed(1, LOST, isNeeded), busyMs }) as Event
      expect(deedsOf(PLACES.starting, busy(25_000)).slice(1)).toEqual([{ action: 'wait', ms: 25_000 }])
      expect(deedsOf(PLACES.starting, busy(86_400_000)).slice(1)).toEqual([{ action: 'wait', ms: MOST_BUSY_MS }])
      expect(deedsOf(PLACES.starting, busy(0)).slice(1)).toEqual([{ action: 'wait', ms: DELAYS_MS[1] }])
    },
  )

  it('about one that nobody misses is nothing but to say so', () => {
    expect(deedsOf(PLACES.starting, failed(1, EXITED, false))).toEqual([{ action: 'log', text: EXITED.reason }])
    expect(after(WANTED, failed(1, EXITED, false)).kind).toBe('idle')
    expect(after(WANTED, opened(1), fell('s1', LOST, false)).kind).toBe('idle')
  })
  it('about one that was let in until now is to ask at once whether it is again, and then seldom', () => {
    const again = next(PLACES.up, fell('s1', REFUSED), LATER)
    expect(again.actions.slice(2)).toEqual([{ action: 'connect', start: 2, isAgain: true }])
    expect(next(again.machine, failed(2, REFUSED), LATER).machine.kind).toBe('needsLogin')
  })

  it('about one that is started anew or stopped is to give up what is under way, or to end what is there', () => {
    expect(deedsOf(PLACES.starting, RENEWED)).toMatchObject([{ action: 'abandon' }, { action: 'connect', start: 2 }])
    expect(deedsOf(PLACES.up, RENEWED)).toMatchObject([
      { action: 'close', session: 's1' },
      { action: 'connect', start: 2 },
    ])
    expect(deedsOf(PLACES.starting, STOPPED)).toMatchObject([{ action: 'abandon' }])
    expect(deedsOf(PLACES.up, STOPPED)).toMatchObject([{ action: 'close', session: 's1' }])
  })

  it('about one that is left is to end what is there when that is over, and to start nothing', () => {
    const LEFT: Event = { what: 'drain', reason: 'It was removed.' }
    for (const place of ['idle', 'starting', 'waiting', 'needsLogin'] as const)
      expect(next(PLACES[place], LEFT, LATER).machine).toMatchObject({
        kind: 'stopped',
        why: { reason: 'It was removed.' },
      })
    expect(deedsOf(PLACES.starting, LEFT)).toMatchObject([{ action: 'abandon' }])
    const { machine, actions } = next(PLACES.up, LEFT, LATER)
    expect({ kind: machine.kind, session: machine.session, actions }).toEqual({
      kind: 'up',
      session: 's1',
      actions: [],
    })
    for (const event of [fell('s1'), UNUSED, RENEWED, STOPPED])
      expect(next(machine, event, LATER)).toMatchObject({
        machine: { kind: 'stopped', session: undefined },
        actions: [{ action: 'close', session: 's1' }],
      })
    for (const event of [fell('s0'), WANTED, LOOKED_AT, DUE]) expect(next(machine, event, LATER).machine).toBe(machine)
  })
})

describe('what is known of a connection', () => {
  it('is nothing of a refusal once it is let in, and all else that went wrong before', () => {
    expect(after(WANTED, failed(1, REFUSED), DUE, opened(2)).lastError).toBeUndefined()
    expect(after(WANTED, failed(1), DUE, opened(2)).lastError).toMatchObject({ reason: EXITED.reason })
  })
  it('is that changes outside in a row are no sign of repair', () => {
    let machine = PLACES.waiting
    for (let times = 1; times <= MOST_EARLY_STARTS; times++) {
      machine = next(machine, CHANGED, NOW).machine
      machine = next(machine, failed(times + 1), NOW).machine
    }
    const again = next(next(machine, DUE, NOW).machine, failed(machine.start + 1), NOW)
    expect(again.actions.map(({ action }) => action)).toEqual(['log', 'wait'])
  })
})
