import { expect, it } from 'vitest'
import { whileAdvancing } from '../../../testing/fake-clock.ts'
import { CALL_MS, FOREVER, stage } from '../testing/connection-stage.ts'
import { LOOK_MS } from './health-ping.ts'

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

it('keeps calls back while it is found out whether it hangs, also soon after it was used', async () => {
  const { connection, server, clock, session } = await silenced({ usedMs: 0 })
  expect(connection.takeNow()).toBe(session)
  void connection.suspect(session)
  const taking = connection.take({ budgetMs: 10_000, signal: FOREVER })
  await clock.advance(5_000)
  expect(await taking).not.toBe(session)
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

it('is taken for hanging in the time of a call, if it hangs as soon as it has come up, but not a second time', async () => {
  const staged = stage()
  const { connection, server, clock } = staged
  server.pids = [1]
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  await clock.advance(1_000)
  server.answers = false
  await clock.advance(20_000)
  expect(await lookedAt(staged)).toMatchObject({ up: true })
  await clock.advance(CALL_MS - 1)
  expect(server.starts).toBe(1)
  server.answers = true
  await clock.advance(1_000)
  expect(server.starts).toBe(2)
  // It may be one that is deaf at this point of each of its lives.
  server.answers = false
  await clock.advance(20_000)
  expect(await lookedAt(staged)).toMatchObject({ up: true })
  await clock.advance(2 * CALL_MS)
  expect(server.starts).toBe(2)
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
