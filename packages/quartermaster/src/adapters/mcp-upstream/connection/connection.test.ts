import { expect, it } from 'vitest'
import { deferred } from '../../../testing/deferred.ts'
import { connectionBy, FOREVER, stage } from '../testing/connection-fixture.ts'

it('starts with the first who needs it, and once for all', async () => {
  const { connection, server } = stage()
  const take = () => connection.take({ budgetMs: 1_000, signal: FOREVER })
  const [one, two] = await Promise.all([take(), take()])
  expect(one).toBe(two)
  expect(server.starts).toBe(1)
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

it('is not there where its server has forgotten the session and opens no other one', async () => {
  const { connection, server, clock } = stage()
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  await clock.advance(10_000)
  server.opens = false
  server.end({ kind: 'sessionLost', reason: 'The server has forgotten the session.' })
  await clock.advance(1_000)
  expect(await connection.probe(FOREVER)).toMatchObject({ up: true })
  await clock.advance(1_000)
  expect(await connection.probe(FOREVER)).toMatchObject({ up: false, recovering: true })
})

it('is there for everybody while somebody has its server forget each session', async () => {
  const { connection, server, clock } = stage()
  const forget = async () => {
    server.end({ kind: 'sessionLost', reason: 'The server has forgotten the session.' })
    await clock.advance(0)
  }
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  for (let times = 1; times <= 20; times++) {
    await clock.advance(3_000)
    await forget()
    expect(await connection.probe(FOREVER)).toMatchObject({ up: true })
    const before = clock.now()
    await connection.take({ budgetMs: 1_000, signal: FOREVER })
    expect([clock.now() - before, server.starts]).toEqual([0, times + 1])
  }
  // One that keeps none is met twice in a second, and seldom where nobody needs it.
  await forget()
  const takes = [1, 2, 3].map(() => connection.take({ budgetMs: 1_000, signal: FOREVER }))
  await clock.advance(499)
  expect(server.starts).toBe(21)
  await clock.advance(1)
  await Promise.all(takes)
  expect(server.starts).toBe(22)
  await forget()
  await clock.advance(29_999)
  expect([server.starts, connection.state().kind]).toEqual([22, 'idle'])
  await clock.advance(1)
  expect([server.starts, connection.state().kind]).toEqual([23, 'up'])
})

it('is not started again for nobody where it is only kept for those who wait', async () => {
  const { connection, server, clock, crash } = stage({ isKeptUp: false })
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  crash()
  await clock.advance(60_000)
  expect(server.starts).toBe(1)
  expect(connection.state().kind).toBe('idle')
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  expect(server.starts).toBe(2)
})

it('comes back by itself for whoever waits to be told of changes, and for as long as somebody does', async () => {
  const { connection, server, clock, crash } = stage({ isKeptUp: false })
  server.isWatched = true
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  crash()
  await clock.advance(60_000)
  expect([server.starts, connection.state().kind]).toEqual([2, 'up'])
  server.isWatched = false
  crash()
  await clock.advance(60_000)
  expect([server.starts, connection.state().kind]).toEqual([2, 'idle'])
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
it.each([
  ['while it starts', 500],
  ['after it was not ready in time', 1_050],
])('has stopped only when what it was starting is gone: %s', async (_, stoppedAfterMs) => {
  const { clock } = stage()
  const gone = deferred<never>()
  const connection = connectionBy(clock, { startMs: () => 1_000, open: () => gone.promise })
  connection.start()
  await clock.advance(stoppedAfterMs)
  let hasStopped = false
  const stopping = connection.stop('It was removed.').then(() => void (hasStopped = true))
  await clock.advance(4_000)
  expect(hasStopped).toBe(false)
  gone.reject(new Error('It is gone.'))
  await stopping
})

it('starts again only when what was not ready in time is gone', async () => {
  const { clock } = stage()
  const ending: (() => void)[] = []
  const connection = connectionBy(clock, {
    startMs: () => 1_000,
    open: () => new Promise((_, reject) => ending.push(() => reject(new Error('It is gone.')))),
  })
  connection.start()
  await clock.advance(5_000)
  expect([ending.length, connection.restarts()]).toEqual([1, 1])
  ending[0]?.()
  // The time of the next one begins with it.
  await clock.advance(999)
  expect([ending.length, connection.restarts()]).toEqual([2, 1])
  await clock.advance(1)
  ending[1]?.()
  await clock.advance(5_000)
  expect(ending).toHaveLength(3)
  // What cannot be ended does not keep the next one from its start for ever.
  await clock.advance(60_000)
  expect(ending.length).toBeGreaterThan(3)
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
  await connection.stop('It was removed.')
  await clock.advance(60_000)
  expect(server.running).toBe(0)
  await expect(connection.take({ budgetMs: 10, signal: FOREVER })).rejects.toMatchObject({
    code: 'DEPENDENCY_UNAVAILABLE',
  })
})
