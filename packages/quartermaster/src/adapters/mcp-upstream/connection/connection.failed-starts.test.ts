import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { ChannelFailure, SendFailure, type WasSent } from '../peer/channel.ts'
import { connectionBy, FOREVER, stage } from '../testing/connection-fixture.ts'

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

it.each([
  [undefined, '"upstream-s" cannot be reached: ', { dependency: 'upstream-s' }],
  ['eve', '"upstream-s" cannot be reached for "eve": ', { upstream: 's', agent: 'eve' }],
])('is a word about the server only where it is for everybody (%s)', async (agent, message, details) => {
  const open = () => Promise.reject(new ChannelFailure({ kind: 'unauthorized', reason: 'It does not take the key.' }))
  const connection = connectionBy(createFakeClock(), { agent, startMs: () => 30_000, open })
  connection.start()
  await expect(connection.take({ budgetMs: 0, signal: FOREVER })).rejects.toMatchObject({
    message: expect.stringContaining(message),
    details,
  })
})

/** A server whose start takes six seconds to fail. Health looks at it with every change, and every now and then. */
function slowToFail() {
  const clock = createFakeClock()
  const server = { starts: 0 }
  const look = () => void connection.probe(FOREVER)
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
  expect(await connection.probe(FOREVER, { isRequested: true })).toMatchObject({ up: false, recovering: true })
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
it('is not tried again for nobody when it was refused, and remembers why', async () => {
  const { clock } = stage()
  let starts = 0
  const connection = connectionBy(clock, {
    startMs: () => 5_000,
    isKeptUp: false,
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

describe('a server that is busy when it is met', () => {
  function busy(
    retryAfterMs: number,
    { isKeptUp = true, wasSent = 'no' }: { isKeptUp?: boolean; wasSent?: WasSent } = {},
  ) {
    const clock = createFakeClock()
    const server = { starts: 0 }
    const facts = { wasSent, status: 429, retryAfterMs }
    const connection = connectionBy(clock, {
      startMs: () => 5_000,
      isKeptUp,
      async open() {
        server.starts++
        throw new SendFailure('The server is busy (HTTP 429).', facts)
      },
    })
    return { clock, server, connection }
  }

  it('is left alone for as long as it asks, whoever looks at it, and is as it was meanwhile', async () => {
    const { clock, server, connection } = busy(25_000)
    connection.start()
    for (let second = 1; second < 25; second++) {
      await clock.advance(1_000)
      const found = await connection.probe(FOREVER, { isRequested: true })
      expect(found).toMatchObject({ up: false, pending: true, reason: 'The server is busy (HTTP 429).' })
    }
    expect(server.starts).toBe(1)
    expect(connection.state()).toMatchObject({ kind: 'waiting', isBusy: true, downSince: undefined })
    await clock.advance(1_000)
    expect(server.starts).toBe(2)
    expect(connection.state()).toMatchObject({ isBusy: true, downSince: expect.any(Number) })
    const found = await connection.probe(FOREVER)
    expect(found).toEqual({ up: false, recovering: true, reason: 'The server is busy (HTTP 429).' })
  })
  it.each([
    ['does not ask for long', 0, 12],
    ['asks for a day', 86_400_000, 4],
  ])('is tried ever later, every minute at least, where it %s', async (_what, retryAfterMs, starts) => {
    const { clock, server, connection } = busy(retryAfterMs)
    connection.start()
    await clock.advance(120_000)
    expect(server.starts).toBeLessThan(starts)
    expect(server.starts).toBeGreaterThan(1)
  })
})
