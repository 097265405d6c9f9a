import { expect, it } from 'vitest'
import { FOREVER, stage } from '../testing/connection-fixture.ts'

it('sleeps when nobody needs it, and wakes with the next who does', async () => {
  const { connection, server, clock } = stage({ idleMs: 60_000 })
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  await clock.advance(121_000)
  expect(connection.state().kind).toBe('idle')
  expect(server.running).toBe(0)
  expect(await connection.probe(FOREVER)).toMatchObject({ up: true })
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  expect(server.running).toBe(1)
})

it.each([
  ['somebody waits to be told of changes', 'isWatched'],
  ['it may be at work on what was given up', 'isHaunted'],
] as const)('does not sleep while %s', async (_, reason) => {
  const { connection, server, clock } = stage({ idleMs: 60_000 })
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  server[reason] = true
  await clock.advance(3_600_000)
  expect(connection.state().kind).toBe('up')
  server[reason] = false
  await clock.advance(1_000)
  expect(connection.state().kind).toBe('idle')
})

it('sleeps although it is looked at all the time, and not while it is at work', async () => {
  const { connection, server, clock } = stage({ idleMs: 120_000 })
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  server.busy = 1
  for (let look = 0; look < 20; look++) {
    await clock.advance(15_000)
    await connection.probe(FOREVER)
  }
  expect(connection.state().kind).toBe('up')
  server.busy = 0
  server.usedAt = clock.now()
  for (let look = 0; look < 9; look++) {
    await clock.advance(15_000)
    await connection.probe(FOREVER)
  }
  expect(connection.state().kind).toBe('idle')
})
it('is no word about its server that it was stopped: another one may stand there already', async () => {
  const { connection } = stage()
  await connection.take({ budgetMs: 1_000, signal: FOREVER })
  await connection.stop('It was removed.')
  expect(await connection.probe(FOREVER)).toMatchObject({ up: false, pending: true })
  await expect(connection.take({ budgetMs: 1_000, signal: FOREVER })).rejects.toMatchObject({
    code: 'DEPENDENCY_UNAVAILABLE',
    details: { upstream: 's' },
  })
})
