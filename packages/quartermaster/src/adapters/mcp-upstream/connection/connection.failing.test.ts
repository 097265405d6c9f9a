import { expect, it } from 'vitest'
import type { Session } from '../peer/session.ts'
import { FOREVER, stage } from '../testing/connection-fixture.ts'
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
        await connection.noteFailure(session(), failure)
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
