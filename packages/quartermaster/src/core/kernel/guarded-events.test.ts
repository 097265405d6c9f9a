import { expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { guardedEvents } from './index.ts'

/** Somebody who follows events that a test makes. */
function follow() {
  const clock = createFakeClock()
  const looks = new Set<() => void>()
  const waiting = [deferred<string>(), deferred<string>()]
  let isAdmitted = true
  async function* events() {
    for (const { promise } of waiting) yield await promise
  }
  const seen = guardedEvents(events(), {
    clock,
    pingMs: 1_000,
    async stillAdmitted() {
      if (!isAdmitted) throw new Error('gone')
    },
    onAccessChange(look) {
      looks.add(look)
      return () => void looks.delete(look)
    },
  })
  const takeAway = () => {
    isAdmitted = false
  }
  const look = () => looks.forEach(one => void one())
  return { clock, seen, say: (i: number, text: string) => waiting[i]?.resolve(text), takeAway, look, looks }
}

it('hands on what comes, and shows again and again that it lives while nothing does', async () => {
  const { clock, seen, say, looks } = follow()
  for (let times = 0; times < 3; times++) {
    const ping = seen.next()
    await clock.advance(1_000)
    expect(await ping).toEqual({ value: undefined, done: false })
  }
  say(0, 'one')
  expect((await seen.next()).value).toBe('one')
  say(1, 'two')
  expect((await seen.next()).value).toBe('two')
  expect((await seen.next()).done).toBe(true)
  expect(looks.size).toBe(0)
})

it('ends for whoever may not any more as soon as that is heard of, and before the next event', async () => {
  const heard = follow()
  const next = heard.seen.next()
  await heard.clock.breathe()
  heard.takeAway()
  heard.look()
  await expect(next).rejects.toThrow('gone')

  const unheard = follow()
  unheard.takeAway()
  unheard.say(0, 'a secret')
  await expect(unheard.seen.next()).rejects.toThrow('gone')
  expect(unheard.looks.size).toBe(0)
})
