import { describe, expect, it } from 'vitest'
import { deferred } from '../../../testing/deferred.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { bareLine, factsOf, NO_EVENTS } from '../testing/bare-session.ts'
import { RpcError, SendFailure } from './channel.ts'
import { createLegacySession } from './legacy-session.ts'

const BROKEN = new SendFailure('It broke.', { wasSent: 'maybe' })
const NO = new RpcError({ code: 1, message: 'There is no such note.' })

/** A clock that knows how many wait for it. */
function countingClock() {
  const clock = createFakeClock()
  const waiting = new Set<symbol>()
  const after = (ms: number, run: () => void) => {
    const one = Symbol('one')
    waiting.add(one)
    const cancel = clock.after(ms, () => {
      waiting.delete(one)
      run()
    })
    return () => {
      waiting.delete(one)
      cancel()
    }
  }
  return { ...clock, after, waiting: () => waiting.size }
}

/** A server that is asked to tell of changes, and answers when the test says so. */
function subscribing(capabilities: Params = {}) {
  const asked: { readonly what: string; readonly answer: ReturnType<typeof deferred<Params>> }[] = []
  const told: string[] = []
  const clock = countingClock()
  const over = deferred()
  const request = (method: string, { uri }: Params) => {
    const answer = deferred<Params>()
    asked.push({ what: `${method.split('/')[1]} ${String(uri)}`, answer })
    return answer.promise
  }
  const made = createLegacySession(bareLine({ request }, over.promise), factsOf({ capabilities }), {
    clock,
    events: {
      ...NO_EVENTS,
      onListChanged: kind => void told.push(kind),
      onResourceUpdated: uri => void told.push(`${uri} changed`),
      onNotSubscribed: (uri, reason) => void told.push(`${uri}: ${reason}`),
    },
  })
  const watch = (...uris: string[]) => made.session.subscribeTo(new Set(uris))
  const answer = async () => {
    asked.at(-1)?.answer.resolve({})
    await clock.breathe()
  }
  const fail = async (why: Error) => {
    asked.at(-1)?.answer.reject(why)
    await clock.breathe()
  }
  const end = async () => {
    over.resolve()
    await clock.breathe()
  }
  return { ...made, clock, asked, told, watch, answer, fail, end, sent: () => asked.map(({ what }) => what) }
}

it('asks a server for what is wanted in the end, and for nothing that was wanted in between', async () => {
  const { watch, answer, sent } = subscribing()
  watch('a')
  watch()
  watch('a', 'b')
  await answer()
  expect(sent()).toEqual(['subscribe a', 'subscribe b'])
})

it('says of which address a server does not tell, and why, and does not ask it again', async () => {
  const { watch, fail, told, sent, clock } = subscribing()
  watch('a')
  await fail(NO)
  await clock.advance(120_000)
  expect([told, sent()]).toEqual([['a: There is no such note.'], ['subscribe a']])
  watch()
  await fail(new RpcError({ code: 1, message: 'Never heard of it.' }))
  expect(told).toHaveLength(1)
})
describe('a server that cannot be asked to tell of an address', () => {
  it('is asked again for as long as that takes, ever more seldom, which people are told once', async () => {
    const { watch, fail, told, sent, clock } = subscribing()
    const pauses: number[] = []
    watch('a')
    for (let times = 1; times < 9; times++) {
      await fail(BROKEN)
      const failedAt = clock.now()
      while (sent().length === times) await clock.advance(250)
      pauses.push(clock.now() - failedAt)
    }
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
    expect(told).toEqual(['a: It broke. It is asked again.'])
  })
})

describe('a server that is asked for many addresses at once', () => {
  const NUMBERS = Array.from({ length: 20 }, (_, number) => `${number}`)
  const subscribed = (from: number, to: number) => NUMBERS.slice(from, to).map(uri => `subscribe ${uri}`)

  it('is asked for eight of them at a time, in their order', async () => {
    const { watch, asked, sent, clock } = subscribing()
    watch(...NUMBERS)
    await clock.breathe()
    expect(sent()).toEqual(subscribed(0, 8))
    asked[3]?.answer.resolve({})
    asked[5]?.answer.reject(NO)
    await clock.breathe()
    expect(sent()).toEqual(subscribed(0, 10))
    for (let one = 0; one < NUMBERS.length; one++) {
      asked[one]?.answer.resolve({})
      await clock.breathe()
    }
    expect(sent()).toEqual(subscribed(0, 20))
  })
})
