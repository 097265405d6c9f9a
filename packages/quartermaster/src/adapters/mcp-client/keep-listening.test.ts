import { expect, it } from 'vitest'
import type { Clock } from '../../core/kernel/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { keepListening } from './connection.ts'

/** A server whose streams go as they are told to. */
function stage(open: (clock: Clock, listens: number) => Promise<unknown>) {
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

it('says when the stream is open, and again after each gap', async () => {
  const ends = [deferred<void>(), deferred<void>()]
  const { clock, stop, openings } = stage((_clock, listens) => ends[listens]?.promise ?? new Promise(() => {}))
  await clock.advance(10_000)
  expect(openings).toEqual([true])
  ends[0]?.resolve()
  await clock.advance(1_000)
  expect(openings).toEqual([true, false])
  stop()
})

it('opens a stream that ends at once ever more rarely, and one that has worked soon', async () => {
  const short = stage(() => Promise.resolve())
  await short.clock.advance(60_000)
  short.stop()
  expect(short.listens()).toBeLessThan(20)
  const long = stage(clock => new Promise<void>(resolve => void clock.after(2_000, resolve)))
  await long.clock.advance(60_000)
  long.stop()
  expect(long.listens()).toBe(Math.floor(60_000 / 2_100) + 1)
})

it('gives up where that is final, and goes on over everything else', async () => {
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
