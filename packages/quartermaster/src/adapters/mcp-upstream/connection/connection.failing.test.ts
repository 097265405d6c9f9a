import { expect, it } from 'vitest'
import type { Session } from '../peer/session.ts'
import { FOREVER, stage } from '../testing/connection-stage.ts'
import type { Failure } from './failures.ts'

const BROKEN: Failure = { what: 'the tool "t"', kind: 'broken', reason: 'The server answered with HTTP 500.' }
const UNREADABLE: Failure = { ...BROKEN, kind: 'unreadable', reason: 'Its answer is not taken. It is no result.' }
const SLOW: Failure = { ...BROKEN, kind: 'slow', reason: 'It did not answer in time.' }
const BUSY: Failure = { ...BROKEN, kind: 'busy', reason: 'The server is busy (HTTP 429).' }

/** A server that answers whoever asks whether it is there, and fails whatever else is asked of it. */
async function failing({ isFar = false, era = 'legacy' as 'legacy' | 'modern' } = {}) {
  const staged = stage({ era })
  const { connection, server, clock } = staged
  server.pids = isFar ? [] : [1]
  const session = () => connection.session() as Session
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  return {
    ...staged,
    session,
    /** So many requests, ten seconds from each other. */
    async fail(times: number, failure = BROKEN) {
      for (let time = 0; time < times; time++) {
        await clock.advance(10_000)
        await connection.failed(session(), failure)
      }
      // What falls starts again at once.
      await clock.advance(0)
    },
  }
}

it.each([BROKEN, UNREADABLE, SLOW, BUSY])('tells what failed last, and how often in a row: $kind', async failure => {
  const { connection, fail } = await failing()
  await fail(1, failure)
  const message = `It answers, but the tool "t" failed: ${failure.reason}`
  expect(connection.lastError()).toMatchObject({ message, isStanding: true })
  await fail(1, { ...failure, what: 'the tool "u"' })
  expect(connection.lastError()).toMatchObject({
    message: `It answers, but its last 2 requests failed, the last of them the tool "u": ${failure.reason}`,
    isStanding: true,
  })
})

it('has nothing more to tell once a request has succeeded, whatever it was', async () => {
  const { connection, fail, server } = await failing()
  await fail(4)
  connection.answered('the tool "other"')
  expect(connection.lastError()).toBeUndefined()
  // And it is counted from the beginning.
  await fail(4)
  expect(server.starts).toBe(1)
})

it('does not tell of a failure that another request has made up for before it was known that the server is there', async () => {
  const { connection, server, clock, session } = await failing()
  server.answers = false
  server.busy = 1
  const failed = connection.failed(session(), BROKEN)
  connection.answered('the tool "other"')
  server.answers = true
  await clock.advance(60_000)
  await failed
  expect(connection.lastError()?.message ?? '').not.toContain('the tool "t" failed')
})

it('tells of its fall, and of no failure, where it turns out to be gone', async () => {
  const { connection, server, clock, session } = await failing()
  server.answers = false
  const failed = connection.failed(session(), BROKEN)
  await clock.advance(5_001)
  await failed
  server.answers = true
  await clock.advance(200)
  expect(connection.lastError()).toMatchObject({ message: 'It runs, but does not answer any more.' })
})

it('writes to its log what failed, once for all that fail in a row', async () => {
  const { notes, fail } = await failing()
  await fail(3)
  expect(notes.filter(note => note.includes('failed'))).toEqual([
    'It answers, but the tool "t" failed: The server answered with HTTP 500.',
  ])
})

it('is started anew once where nothing succeeds over some time', async () => {
  const failure = BROKEN
  const { connection, server, fail, clock } = await failing()
  await fail(4, failure)
  expect(server.starts).toBe(1)
  await fail(1, failure)
  expect([server.starts, server.running, connection.restarts()]).toEqual([2, 1, 1])
  await clock.advance(1_000)
  // That has not helped, and doing it again would not either.
  await fail(20, failure)
  expect([server.starts, connection.state().kind]).toEqual([2, 'up'])
  expect(connection.lastError()).toMatchObject({
    message: `It answers, but its last 20 requests failed, also after a restart, the last of them the tool "t": ${failure.reason}`,
    isStanding: true,
  })
})

it('is told of as started anew until a request succeeds: to be there again is no success', async () => {
  const { connection, server, fail, clock } = await failing()
  await fail(5)
  await clock.advance(1_000)
  expect([server.starts, connection.state().kind]).toEqual([2, 'up'])
  const why = 'because its last 5 requests failed, the last of them the tool "t"'
  const message = `It was restarted ${why}, and none has succeeded since: ${BROKEN.reason}`
  expect(connection.lastError()).toMatchObject({ message, isStanding: true })
  connection.answered('the tool "t"')
  expect(connection.lastError()).not.toHaveProperty('isStanding')
})

it('is not told of as started anew for its failures where a person has had it started since', async () => {
  const { connection, fail, clock } = await failing()
  await fail(5)
  await clock.advance(1_000)
  await connection.restart()
  await clock.advance(1_000)
  expect(connection.lastError()).not.toHaveProperty('isStanding')
})

it('is not told of as started anew for its failures where only the start of a person has succeeded', async () => {
  const { connection, server, fail, clock } = await failing()
  server.lives = false
  await fail(5)
  expect(server.starts).toBe(2)
  server.lives = true
  await connection.restart()
  await clock.advance(1_000)
  expect(connection.state().kind).toBe('up')
  expect(connection.lastError()).not.toHaveProperty('isStanding')
})

it('is started anew another time where it has worked in between', async () => {
  const { connection, server, fail } = await failing()
  await fail(5)
  connection.answered('the tool "t"')
  await fail(5)
  expect(server.starts).toBe(3)
})

it('is not started anew for many failures at once', async () => {
  const { connection, server, clock, session } = await failing()
  await Promise.all(Array.from({ length: 50 }, () => connection.failed(session(), BROKEN)))
  await clock.advance(0)
  expect(server.starts).toBe(1)
})

it('is not started anew because it is slow or busy, or answers one tool with what cannot be read', async () => {
  for (const failure of [SLOW, BUSY, UNREADABLE]) {
    const { server, fail } = await failing()
    await fail(20, failure)
    expect(server.starts).toBe(1)
  }
})

it('is not started anew while something is under way that may still succeed', async () => {
  const { server, fail } = await failing()
  server.busy = 1
  await fail(6)
  expect(server.starts).toBe(1)
  server.busy = 0
  await fail(1)
  expect(server.starts).toBe(2)
})

it('is not started anew while it may be at work on what was given up', async () => {
  const { server, fail } = await failing()
  server.isHaunted = true
  await fail(6)
  expect(server.starts).toBe(1)
})

it('is not started anew for what was bad before when a call has taken too long', async () => {
  const { connection, server, clock, session, fail } = await failing()
  await Promise.all(Array.from({ length: 5 }, () => connection.failed(session(), BROKEN)))
  await clock.advance(60_000)
  await fail(1, SLOW)
  expect(server.starts).toBe(1)
  await fail(1)
  expect(server.starts).toBe(2)
})

it('is not left to itself: calls that come meanwhile wait for the next one', async () => {
  const { connection, server, fail, clock } = await failing()
  server.startsInMs = 2_000
  await fail(5)
  expect(connection.state()).toMatchObject({ kind: 'starting', downSince: clock.now() })
  const taking = connection.take({ budgetMs: 10_000, signal: FOREVER })
  await clock.advance(2_000)
  expect(await taking).toBe(connection.session())
})

it.each([
  ['legacy', 2],
  ['modern', 1],
] as const)('is met anew over HTTP where there are sessions: %s', async (era, starts) => {
  const { server, fail } = await failing({ isFar: true, era })
  await fail(6)
  expect(server.starts).toBe(starts)
})

it('forgets what failed with the server that it failed at', async () => {
  const { connection, fail, clock } = await failing()
  await fail(3)
  await connection.restart()
  await clock.advance(0)
  expect(connection.lastError()).toBeUndefined()
})
