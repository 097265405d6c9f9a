import { expect, it, onTestFinished } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { type CancelSignal, createCancellation, whileAdmitted } from './index.ts'

function admitted() {
  const clock = createFakeClock()
  const looks = new Set<() => void>()
  const gone = createCancellation()
  let trouble: Error | undefined
  let asked = 0
  const found = deferred<string>()
  const options = {
    clock,
    pingMs: 1_000,
    gone: gone.signal,
    async stillAdmitted() {
      asked++
      if (trouble) throw trouble
    },
    onAccessChange(look: () => void) {
      looks.add(look)
      return () => void looks.delete(look)
    },
  }
  let signal: CancelSignal | undefined
  /** Waits as those do who may be sent away. */
  const wait = () =>
    whileAdmitted(options, given => {
      signal = given
      given.addEventListener('abort', () => found.resolve('nothing'))
      return found.promise
    })
  onTestFinished(() => expect(looks.size).toBe(0))
  return {
    clock,
    looks,
    gone,
    options,
    found,
    wait,
    asked: () => asked,
    signal: () => signal,
    fail: (error: Error | undefined) => {
      trouble = error
    },
    look: () => looks.forEach(one => void one()),
  }
}

const ENDED = new AppError('TOKEN_INVALID', 'ended')
const AWAY = new AppError('STORE_UNAVAILABLE', 'away')

it('ends what waits when access has ended: once that is heard of, and now and then by itself', async () => {
  for (const notice of ['heard', 'looked'] as const) {
    const at = admitted()
    const waiting = at.wait()
    await at.clock.breathe()
    at.fail(ENDED)
    if (notice === 'heard') at.look()
    else void at.clock.advance(1_000)
    await expect(waiting).rejects.toBe(ENDED)
    expect([at.signal()?.aborted, at.signal()?.reason]).toEqual([true, ENDED])
  }
})

it('sends away at once whose access ended before it began to wait', async () => {
  const at = admitted()
  at.fail(ENDED)
  await expect(at.wait()).rejects.toBe(ENDED)
})

it('hands out nothing that was found when access had ended, and nothing while that is not known', async () => {
  for (const error of [ENDED, AWAY]) {
    const at = admitted()
    const waiting = at.wait()
    await at.clock.breathe()
    at.fail(error)
    at.found.resolve('a secret')
    await expect(waiting).rejects.toBe(error)
  }
})

it('tells why somebody was sent away, and not what failed because of that', async () => {
  const at = admitted()
  const waiting = at.wait()
  await at.clock.breathe()
  at.fail(ENDED)
  at.found.reject(new Error('There is nobody to wait for.'))
  await expect(waiting).rejects.toBe(ENDED)
})

it('lets wait on who could not be looked at for a while', async () => {
  const at = admitted()
  const waiting = at.wait()
  at.fail(AWAY)
  await at.clock.advance(5_000)
  at.fail(undefined)
  at.found.resolve('a word')
  expect(await waiting).toBe('a word')
})

it('tells what waits that the client has gone, and refuses it nothing for that', async () => {
  const at = admitted()
  const waiting = at.wait()
  at.gone.cancel(new Error('left'))
  expect(await waiting).toBe('nothing')
  expect(at.signal()?.reason).toEqual(new Error('left'))
})

it('costs nothing where nobody waits, nor for what begins to listen when it is over', async () => {
  const at = admitted()
  at.fail(ENDED)
  const signal = await whileAdmitted(at.options, async given => given)
  let hasHeard = false
  signal.addEventListener('abort', () => {
    hasHeard = true
  })
  expect([at.looks.size, at.asked()]).toEqual([0, 0])
  at.gone.cancel(new Error('left'))
  expect([hasHeard, signal.aborted]).toEqual([true, true])
})
