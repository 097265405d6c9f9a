import { expect, it } from 'vitest'
import { CALL_MS, FOREVER, stage } from '../testing/connection-fixture.ts'
import { PROBE_MS } from './health-ping.ts'

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
  const looked = connection.probe(FOREVER).catch(String)
  await clock.advance(PROBE_MS)
  return looked
}

it('ends a server that has nothing to do and does not answer', async () => {
  const { connection, server, clock } = stage()
  const session = await connection.take({ budgetMs: 1_000, signal: FOREVER })
  server.answers = false
  const known = connection.verifyAlive(session)
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
  const looked = connection.probe(controller.signal)
  await clock.advance(2_000)
  controller.abort()
  expect(await looked).toMatchObject({ up: true })
  expect(server.starts).toBe(1)
})
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
