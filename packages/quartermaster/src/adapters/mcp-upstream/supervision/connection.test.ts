import { expect, it } from 'vitest'
import { createFakeClock, type FakeClock, whileAdvancing } from '../../../testing/fake-clock.ts'
import { type ChannelEnd, ChannelFailure } from '../session/channel.ts'
import type { Session } from '../session/session.ts'
import { factsOf } from '../testing/bare-session.ts'
import { untilAborted } from '../testing/until-aborted.ts'
import { type Connection, type ConnectionDeps, createConnection } from './connection.ts'
import { LOOK_MS } from './hang-watch.ts'

const FOREVER = new AbortController().signal

/** A server that the test starts, ends and silences. */
function stage({ idleMs, lives = true, isKept = true }: { idleMs?: number; lives?: boolean; isKept?: boolean } = {}) {
  const clock = createFakeClock()
  const server = {
    lives,
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
      facts: factsOf(),
      page: async () => ({}),
      ask: async () => ({}),
      async ping(signal) {
        if (!server.answers) await untilAborted(signal)
        heard = clock.now()
      },
      watch() {},
      pids: () => server.pids,
      busy: () => server.busy,
      workingSince: () => (server.busy > 0 ? server.workingSince : undefined),
      isAtRest: () => server.busy === 0 && !server.isHaunted,
      heardAt: () => heard,
      owedAt: () => 0,
      usedAt: () => server.usedAt,
      ended,
      close: async () => end({ kind: 'closed', reason: 'closed' }),
    }
  }

  const connection = createConnection({
    clock,
    random: () => 1,
    dependency: 'upstream-s',
    startMs: () => 5_000,
    callMs: () => 60_000,
    idleMs,
    isKept,
    open,
    fingerprint: async () => server.fingerprint,
    isWatched: () => server.isWatched,
    onChange() {},
    note: text => notes.push(text),
  })
  const crash = () => server.end({ kind: 'exited', reason: 'It was killed.' })
  return { clock, server, connection, crash, notes }
}

/** A connection whose way to its server is the test's own. */
function connectionBy(
  clock: FakeClock,
  way: Pick<ConnectionDeps, 'startMs' | 'open'> & Partial<ConnectionDeps>,
): Connection {
  return createConnection({
    clock,
    random: () => 1,
    dependency: 'upstream-s',
    idleMs: undefined,
    callMs: () => 60_000,
    isKept: true,
    fingerprint: async () => '',
    isWatched: () => false,
    onChange() {},
    note() {},
    ...way,
  })
}

it('starts with the first who needs it, and once for all', async () => {
  const { connection, server } = stage()
  const take = () => connection.take({ budgetMs: 1_000, signal: FOREVER })
  const [one, two] = await Promise.all([take(), take()])
  expect(one).toBe(two)
  expect(server.starts).toBe(1)
})

it('knows whether somebody waits for it, also while it is down', async () => {
  const { connection, server, clock } = stage({ lives: false, isKept: false })
  expect(connection.isAwaited()).toBe(false)
  const taking = connection.take({ budgetMs: 60_000, signal: FOREVER })
  await expect.poll(() => connection.state().kind).toBe('waiting')
  expect(connection.isAwaited()).toBe(true)
  server.lives = true
  await clock.advance(60_000)
  await taking
  expect(connection.isAwaited()).toBe(false)
})

it('starts again at once when it fell, and lets those who wait go on', async () => {
  const { connection, server, crash, clock } = stage()
  const first = await connection.take({ budgetMs: 1_000, signal: FOREVER })
  await clock.advance(60_000)
  crash()
  await clock.advance(0)
  const second = await connection.take({ budgetMs: 1_000, signal: FOREVER })
  expect(second).not.toBe(first)
  expect(server).toMatchObject({ starts: 2, running: 1 })
  expect(connection.restarts()).toBe(1)
})

it('tries ever less often while it cannot start, and says why', async () => {
  const { connection, server, clock } = stage({ lives: false })
  connection.start()
  await clock.advance(1)
  await clock.advance(120_000)
  expect(server.starts).toBeLessThan(12)
  expect(server.starts).toBeGreaterThan(8)
  expect(connection.state()).toMatchObject({ kind: 'waiting', reason: 'It exited with code 1.' })
  await expect(connection.take({ budgetMs: 0, signal: FOREVER })).rejects.toMatchObject({
    code: 'DEPENDENCY_UNAVAILABLE',
    message: expect.stringContaining('It exited with code 1.'),
  })
})

/** A server whose start takes six seconds to fail. Health looks at it with every change, and every now and then. */
function slowToFail() {
  const clock = createFakeClock()
  const server = { starts: 0 }
  const look = () => void connection.look(FOREVER)
  const connection = connectionBy(clock, {
    startMs: () => 30_000,
    async open() {
      server.starts++
      await new Promise<void>(resolve => void clock.after(6_000, resolve))
      throw new ChannelFailure({ kind: 'exited', reason: 'It exited with code 1.' })
    },
    onChange: look,
  })
  const watch = () => {
    look()
    clock.after(15_000, watch)
  }
  watch()
  return { clock, server, connection }
}

it('is left alone for ever longer although it is looked at all the time, however long its starts take to fail', async () => {
  const { clock, server, connection } = slowToFail()
  connection.start()
  await clock.advance(80_000)
  expect(server.starts).toBe(8)
  await clock.advance(600_000)
  expect(server.starts).toBeLessThan(27)
})

it('is started at once when somebody wants to know whether it works', async () => {
  const { clock, server, connection } = slowToFail()
  connection.start()
  await clock.advance(58_000)
  expect(connection.state().kind).toBe('waiting')
  const before = server.starts
  expect(await connection.look(FOREVER, { isRequested: true })).toMatchObject({ up: false, recovering: true })
  await clock.advance(1)
  expect(server.starts).toBe(before + 1)
})

it('is back within a quarter of a second of being repaired, however long it would have waited', async () => {
  const { connection, server, clock } = stage({ lives: false })
  connection.start()
  await clock.advance(1)
  await clock.advance(120_000)
  server.lives = true
  server.fingerprint = 'b'
  await clock.advance(250)
  expect(connection.state().kind).toBe('up')
})

it('is not started for ever by a file that changes all the time', async () => {
  const { connection, server, clock } = stage({ lives: false })
  connection.start()
  for (let moment = 0; moment < 600; moment++) {
    server.fingerprint = `${moment}`
    await clock.advance(100)
  }
  expect(server.starts).toBeLessThan(25)
  server.lives = true
  await clock.advance(30_000)
  expect(connection.state().kind).toBe('up')
})

it('waits no longer for a start than it may take', async () => {
  const { clock } = stage()
  const connection = connectionBy(clock, {
    startMs: () => 5_000,
    open: signal => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  })
  connection.start()
  await clock.advance(5_001)
  expect(connection.lastError()?.message).toBe('It was not ready within 5 s.')
})

it('ends a server that has nothing to do and does not answer', async () => {
  const { connection, server, clock } = stage()
  const session = await connection.take({ budgetMs: 1_000, signal: FOREVER })
  server.answers = false
  const known = connection.suspect(session)
  await clock.advance(5_001)
  await known
  server.answers = true
  await clock.advance(200)
  expect(server).toMatchObject({ starts: 2, running: 1 })
  expect(connection.lastError()?.message).toContain('does not answer any more')
})

it('leaves a server alone that is too busy to answer', async () => {
  const { connection, server, clock } = stage()
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  server.answers = false
  server.busy = 1
  await clock.advance(2_000)
  const controller = new AbortController()
  const looked = connection.look(controller.signal)
  await clock.advance(2_000)
  controller.abort()
  expect(await looked).toMatchObject({ up: true })
  expect(server.starts).toBe(1)
})

const CALL_MS = 60_000

/** A program that came up a while ago, and falls silent without a word longer after its last call than one may take. */
async function silenced({ neverAnswered = false, isFar = false, usedMs = CALL_MS } = {}) {
  const staged = stage()
  const { connection, server, clock } = staged
  server.pids = isFar ? [] : [1]
  server.answers = !neverAnswered
  const session = await connection.take({ budgetMs: 1_000, signal: FOREVER })
  await clock.advance(14_000)
  server.answers = false
  server.usedAt = clock.now() - usedMs
  return { ...staged, session }
}

/** What comes of a look, which is not waited for any longer than it is anywhere. */
async function lookedAt({ connection, clock }: Pick<ReturnType<typeof stage>, 'connection' | 'clock'>) {
  const looked = connection.look(FOREVER).catch(String)
  await clock.advance(LOOK_MS)
  return looked
}

it('asks a program first that is at rest and was not heard of late, and gives the call to the next one if it hangs', async () => {
  const { connection, server, clock, session } = await silenced()
  expect(connection.takeNow()).toBe(undefined)
  const taking = [1, 2].map(() => connection.take({ budgetMs: 10_000, signal: FOREVER }))
  await clock.advance(5_000)
  expect(connection.lastError()?.message).toContain('does not answer any more')
  const [one, two] = await Promise.all(taking)
  expect(one).toBe(two)
  expect(one).not.toBe(session)
  expect(server).toMatchObject({ starts: 2, running: 1 })
})

it('asks a program at rest no more than once for calls that follow each other', async () => {
  const { connection, server, session } = await silenced()
  server.answers = true
  expect(connection.takeNow()).toBe(undefined)
  expect(await connection.take({ budgetMs: 1_000, signal: FOREVER })).toBe(session)
  expect(connection.takeNow()).toBe(session)
})

it('stops asking a program for a call that nobody waits for any more', async () => {
  const { connection } = await silenced()
  const caller = new AbortController()
  const taking = connection.take({ budgetMs: 1_000, signal: caller.signal })
  caller.abort(new Error('Nobody waits.'))
  await expect(taking).rejects.toThrow('Nobody waits.')
})

it('asks a program no longer than the call may wait for it, and not at all for one that may not', async () => {
  const { connection, server, clock, session } = await silenced()
  const begunAt = clock.now()
  const taking = connection.take({ budgetMs: 2_000, signal: FOREVER })
  await expect(whileAdvancing(clock, taking)).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
  expect(clock.now() - begunAt).toBeLessThan(5_000)
  expect(server.starts).toBe(1)
  expect(await connection.take({ budgetMs: 0, signal: FOREVER })).toBe(session)
})

it.each([
  ['is at work on something else', {}, { busy: 1 }],
  ['may be at work on what was given up', {}, { isHaunted: true }],
  ['may be at work on what it has answered already', { usedMs: CALL_MS - 10_000 }, {}],
  ['never answered when it was asked', { neverAnswered: true }, {}],
  ['is far away', { isFar: true }, {}],
] as const)('gives a call at once to one that %s, and does not judge it by its silence', async (_, options, state) => {
  const { connection, server, clock, session } = await silenced(options)
  Object.assign(server, state)
  expect(connection.takeNow()).toBe(session)
  await clock.advance(25_000)
  expect(server.starts).toBe(1)
})

it.each([
  ['may be at work on what was given up', {}, { isHaunted: true }, CALL_MS],
  ['may be at work on what it has answered already', { usedMs: 1_000 }, {}, CALL_MS],
  ['never answered when it was asked', { neverAnswered: true }, {}, Number.POSITIVE_INFINITY],
] as const)(
  'is not taken for hanging by a look before a call would be over, if it %s',
  async (_, options, state, patienceMs) => {
    const staged = await silenced(options)
    Object.assign(staged.server, state)
    expect(await lookedAt(staged)).toMatchObject({ up: true })
    await staged.clock.advance(CALL_MS - 1)
    expect(staged.server.starts).toBe(1)
    staged.server.answers = true
    await staged.clock.advance(1_000)
    expect(staged.server.starts).toBe(patienceMs === CALL_MS ? 2 : 1)
  },
)

it('is taken for hanging by a look soon after it fell silent, but the one that comes after it is not', async () => {
  const staged = await silenced()
  const { server, clock, connection } = staged
  expect(await lookedAt(staged)).toContain('It did not answer.')
  await clock.advance(5_000)
  expect(server.starts).toBe(2)
  server.answers = true
  await clock.advance(CALL_MS)
  server.answers = false
  // It reads its index at this time of its life, however often it is started.
  expect(await lookedAt(staged)).toMatchObject({ up: true })
  const successor = connection.session()
  expect(connection.takeNow()).toBe(successor)
  server.answers = true
  await lookedAt(staged)
  await clock.advance(CALL_MS)
  expect(server.starts).toBe(2)
})

it('is taken for hanging in the time of a call, if it falls silent as soon as it has come up in place of one that answered', async () => {
  const staged = await silenced()
  const { server, clock } = staged
  await lookedAt(staged)
  await clock.advance(5_000)
  expect(server.starts).toBe(2)
  await clock.advance(2_000)
  expect(await lookedAt(staged)).toMatchObject({ up: true })
  await clock.advance(CALL_MS - 1)
  expect(server.starts).toBe(2)
  await clock.advance(1_000)
  expect(server.starts).toBe(3)
})

it('is known to answer at rest by any look that it answered, once it has been up for a while', async () => {
  const staged = stage()
  const { connection, server, clock } = staged
  server.pids = [1]
  server.answers = false
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  await clock.advance(10_000)
  server.answers = true
  expect(await lookedAt(staged)).toMatchObject({ up: true })
  server.answers = false
  await clock.advance(CALL_MS)
  expect(connection.takeNow()).toBe(undefined)
})

it('sleeps when nobody needs it, and wakes with the next who does', async () => {
  const { connection, server, clock } = stage({ idleMs: 60_000 })
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  await clock.advance(121_000)
  expect(connection.state().kind).toBe('idle')
  expect(server.running).toBe(0)
  expect(await connection.look(FOREVER)).toMatchObject({ up: true })
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  expect(server.running).toBe(1)
})

it('does not sleep while somebody waits to be told of changes', async () => {
  const { connection, server, clock } = stage({ idleMs: 60_000 })
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  server.isWatched = true
  await clock.advance(3_600_000)
  expect(connection.state().kind).toBe('up')
  server.isWatched = false
  await clock.advance(1_000)
  expect(connection.state().kind).toBe('idle')
})

it('waits for a person where one has to sign in, tries seldom meanwhile, and at once when one has', async () => {
  const { clock } = stage()
  let starts = 0
  const connection = connectionBy(clock, {
    startMs: () => 5_000,
    async open() {
      starts++
      throw new ChannelFailure({ kind: 'unauthorized', reason: 'A person has to sign in.' })
    },
  })
  connection.start()
  await clock.advance(29_000)
  expect(starts).toBe(1)
  await clock.advance(91_000)
  expect(starts).toBe(5)
  expect(connection.state()).toMatchObject({ kind: 'needsLogin', reason: 'A person has to sign in.' })
  await connection.restart()
  await clock.advance(1)
  expect(starts).toBe(6)
})

it('sleeps although it is looked at all the time, and not while it is at work', async () => {
  const { connection, server, clock } = stage({ idleMs: 120_000 })
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  server.busy = 1
  for (let look = 0; look < 20; look++) {
    await clock.advance(15_000)
    await connection.look(FOREVER)
  }
  expect(connection.state().kind).toBe('up')
  server.busy = 0
  server.usedAt = clock.now()
  for (let look = 0; look < 9; look++) {
    await clock.advance(15_000)
    await connection.look(FOREVER)
  }
  expect(connection.state().kind).toBe('idle')
})

it('is given up when it is to be, whatever its start waits for', async () => {
  const { clock } = stage()
  const connection = connectionBy(clock, {
    startMs: () => 1_000,
    open: () => new Promise(() => {}),
  })
  connection.start()
  await clock.advance(1_001)
  expect(connection.lastError()?.message).toBe('It was not ready within 1 s.')
  await clock.advance(500)
  await connection.stop()
  expect(connection.state().kind).toBe('stopped')
})

it('is not started again for nobody where it is only kept for those who wait', async () => {
  const { connection, server, clock, crash } = stage({ isKept: false })
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  crash()
  await clock.advance(60_000)
  expect(server.starts).toBe(1)
  expect(connection.state().kind).toBe('idle')
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  expect(server.starts).toBe(2)
})

it('is not tried again for nobody when it was refused, and remembers why', async () => {
  const { clock } = stage()
  let starts = 0
  const connection = connectionBy(clock, {
    startMs: () => 5_000,
    isKept: false,
    async open() {
      starts++
      throw new ChannelFailure({ kind: 'unauthorized', reason: 'A person has to sign in.' })
    },
  })
  const take = () => connection.take({ budgetMs: 1_000, signal: FOREVER })
  const refusal = { code: 'DEPENDENCY_UNAVAILABLE', message: expect.stringContaining('A person has to sign in.') }
  await expect(take()).rejects.toMatchObject(refusal)
  await clock.advance(3_600_000)
  expect(starts).toBe(1)
  expect(connection.state()).toMatchObject({ kind: 'idle', reason: 'A person has to sign in.' })
  await expect(take()).rejects.toMatchObject(refusal)
  expect(starts).toBe(2)
})

it('never has two of them, whatever is asked of it while it starts and stops', async () => {
  const { connection, server, clock, crash } = stage()
  connection.start()
  await connection.restart()
  await clock.advance(1)
  await connection.restart()
  crash()
  await clock.advance(1_000)
  expect(server.running).toBe(1)
  await connection.stop()
  await clock.advance(60_000)
  expect(server.running).toBe(0)
  await expect(connection.take({ budgetMs: 10, signal: FOREVER })).rejects.toMatchObject({
    code: 'DEPENDENCY_UNAVAILABLE',
  })
})

it('is started at once, when it was repaired while a start of it was failing', async () => {
  const { connection, server, clock } = stage({ lives: false })
  connection.start()
  await clock.advance(40_000)
  const attempts = server.starts
  server.onStart = () => {
    server.fingerprint = 'b'
    server.onStart = () => void (server.lives = true)
  }
  await clock.advance(30_000)
  expect(server.starts).toBe(attempts + 2)
  expect(connection.state()).toMatchObject({ kind: 'up' })
})

it('counts its starts, also those that came to nothing, and says what became of each', async () => {
  const { connection, server, clock, notes } = stage({ lives: false })
  connection.start()
  await clock.advance(60_000)
  expect(connection.restarts()).toBe(server.starts - 1)
  server.lives = true
  await clock.advance(30_000)
  expect(notes.slice(-2)).toEqual(['It exited with code 1.', 'Connected to s 1 (MCP 2025-11-25).'])
})
