import { expect, it } from 'vitest'
import { FOREVER, stage } from '../testing/connection-stage.ts'

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
