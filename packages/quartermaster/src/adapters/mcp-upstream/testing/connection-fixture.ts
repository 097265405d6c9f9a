import { createFakeClock, type FakeClock } from '../../../testing/fake-clock.ts'
import { type Connection, type ConnectionDeps, createConnection } from '../connection/connection.ts'
import { pause } from '../peer/abort.ts'
import { type ChannelEnd, ChannelFailure } from '../peer/channel.ts'
import type { Era, Session } from '../peer/session.ts'
import { factsOf } from './bare-session.ts'
import { untilAborted } from './until-aborted.ts'

export const FOREVER = new AbortController().signal

/** How long a call may take there. */
export const CALL_MS = 60_000

/** A server that the test starts, ends and silences. */
export function stage({
  idleMs,
  lives = true,
  isKeptUp = true,
  era = 'legacy',
}: {
  idleMs?: number
  lives?: boolean
  isKeptUp?: boolean
  era?: Era
} = {}) {
  const clock = createFakeClock()
  const server = {
    lives,
    /** Whether it lets us in. */
    letsIn: true,
    /** Whether a start comes to an end. */
    opens: true,
    /** How long a start takes. */
    startsInMs: 0,
    answers: true,
    starts: 0,
    running: 0,
    fingerprint: 'a',
    onStart() {},
    busy: 0,
    /** Whether it may be at work on what was given up. */
    isHaunted: false,
    pids: [] as readonly number[],
    isWatched: false,
    workingSince: clock.now(),
    usedAt: clock.now(),
    end: (_end: ChannelEnd) => {},
  }
  const notes: string[] = []

  async function open(): Promise<Session> {
    server.starts++
    server.onStart()
    if (server.startsInMs > 0) await pause(server.startsInMs, { clock })
    if (!server.opens) await untilAborted(FOREVER)
    if (!server.letsIn) throw new ChannelFailure({ kind: 'unauthorized', reason: 'A person has to sign in.' })
    if (!server.lives) throw new ChannelFailure({ kind: 'exited', reason: 'It exited with code 1.' })
    server.running++
    let isOver = false
    const ended = new Promise<ChannelEnd>(resolve => {
      server.end = end => {
        if (!isOver) server.running--
        isOver = true
        resolve(end)
      }
    })
    const { end } = server
    let heard = clock.now()
    return {
      facts: factsOf({ era }),
      page: async () => ({}),
      ask: async () => ({}),
      holdOpen: work => work(),
      async ping(signal) {
        if (!server.answers) await untilAborted(signal)
        heard = clock.now()
      },
      subscribeTo() {},
      pids: () => server.pids,
      busy: () => server.busy,
      busySince: () => (server.busy > 0 ? server.workingSince : undefined),
      ownerTimeoutMs: () => 0,
      isIdle: () => server.busy === 0 && !server.isHaunted,
      lastHeardAt: () => heard,
      listeningSince: () => 0,
      answerOwedAt: () => 0,
      lastUsedAt: () => server.usedAt,
      ended,
      close: async () => end({ kind: 'closed', reason: 'closed' }),
    }
  }

  const connection = createConnection({
    clock,
    random: () => 1,
    upstream: 's',
    dependency: 'upstream-s',
    target: {},
    startMs: () => 5_000,
    callMs: () => CALL_MS,
    idleMs,
    isKeptUp,
    open,
    stdoutNoise: () => undefined,
    fingerprint: async () => server.fingerprint,
    hasSubscribers: () => server.isWatched,
    onUp() {},
    onChange() {},
    note: text => notes.push(text),
  })
  const crash = () => server.end({ kind: 'exited', reason: 'It was killed.' })
  return { clock, server, connection, crash, notes }
}

/** A connection whose way to its server is the test's own. */
export function connectionBy(
  clock: FakeClock,
  way: Pick<ConnectionDeps, 'startMs' | 'open'> & Partial<ConnectionDeps>,
): Connection {
  return createConnection({
    clock,
    random: () => 1,
    upstream: 's',
    dependency: 'upstream-s',
    target: {},
    idleMs: undefined,
    callMs: () => CALL_MS,
    isKeptUp: true,
    stdoutNoise: () => undefined,
    fingerprint: async () => '',
    hasSubscribers: () => false,
    onUp() {},
    onChange() {},
    note() {},
    ...way,
  })
}
