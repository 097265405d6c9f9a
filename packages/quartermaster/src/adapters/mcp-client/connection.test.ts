import { UnauthorizedError } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import type { Clock } from '../../core/kernel/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createConnection, keepListening } from './connection.ts'

it('stops following changes while its token is refused, and resumes once it is valid', async () => {
  const clock = createFakeClock()
  const events: string[] = []
  let isTaken = true
  const client = {
    setNotificationHandler: () => {},
    async listen() {
      events.push(isTaken ? 'opened' : 'refused')
      if (!isTaken) throw new UnauthorizedError()
      return { closed: new Promise<void>(resolve => void clock.after(2_000, resolve)) }
    },
  }
  const { run, stop } = createConnection({
    client: client as never,
    address: new URL('http://127.0.0.1:7420/mcp'),
    following: { clock, random: () => 0.5 },
    list: { changed: () => void events.push('changed'), refresh: async () => {} },
  })
  await clock.advance(1_000)
  isTaken = false
  await clock.advance(60_000)
  expect(events).toEqual(['opened', 'refused', 'changed'])
  await expect(run(() => Promise.reject(new UnauthorizedError()))).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  isTaken = true
  await run(async () => {})
  await clock.advance(1_000)
  expect(events).toEqual(['opened', 'refused', 'changed', 'opened'])
  stop()
})

/** Listens to a server whose streams end as the test decides. */
function listeningTo(open: (clock: Clock, listens: number) => Promise<unknown>) {
  const clock = createFakeClock(0)
  const openings: boolean[] = []
  let listens = 0
  const client = {
    async listen() {
      return { closed: open(clock, listens++) }
    },
  }
  const stop = keepListening(client as never, {
    clock,
    random: () => 0.5,
    onOpen: ({ isFirst }) => openings.push(isFirst),
    isFinal: error => String(error).includes('refused'),
  })
  return { clock, stop, openings, listens: () => listens }
}

it('reports each opening of the stream', async () => {
  const ends = [deferred<void>(), deferred<void>()]
  const { clock, stop, openings } = listeningTo((_clock, listens) => ends[listens]?.promise ?? new Promise(() => {}))
  await clock.advance(10_000)
  expect(openings).toEqual([true])
  ends[0]?.resolve()
  await clock.advance(1_000)
  expect(openings).toEqual([true, false])
  stop()
})

it('backs off for streams that end at once, and reopens a working stream soon', async () => {
  const short = listeningTo(() => Promise.resolve())
  await short.clock.advance(60_000)
  short.stop()
  expect(short.listens()).toBeLessThan(20)
  const long = listeningTo(clock => new Promise<void>(resolve => void clock.after(2_000, resolve)))
  await long.clock.advance(60_000)
  long.stop()
  expect(long.listens()).toBe(Math.floor(60_000 / 2_100) + 1)
})

it('retries until a failure is final', async () => {
  let failure = 'busy'
  let tries = 0
  const clock = createFakeClock(0)
  const client = {
    async listen() {
      tries++
      throw new Error(failure)
    },
  }
  keepListening(client as never, {
    clock,
    random: () => 0.5,
    onOpen: () => {},
    isFinal: error => String(error).includes('refused'),
  })
  await clock.advance(1_000)
  expect(tries).toBeGreaterThan(2)
  failure = 'refused'
  await clock.advance(10_000)
  const before = tries
  await clock.advance(60_000)
  expect(tries).toBe(before)
})
