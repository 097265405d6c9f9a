import { describe, expect, it, onTestFinished } from 'vitest'
import type { CancelSignal } from '../../../core/kernel/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { createFakeClock, whileAdvancing } from '../../../testing/fake-clock.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { bareLine, factsOf, NO_EVENTS } from '../testing/bare-session.ts'
import { httpEndpoint, type Visit } from '../testing/http-endpoint.ts'
import { answerLegacy } from '../testing/legacy-answers.ts'
import { NOTES_ANSWERS, URI } from '../testing/notes-answers.ts'
import { untilAborted } from '../testing/until-aborted.ts'
import { openHttpChannel } from '../transport/http-channel.ts'
import { RpcError, SendFailure } from './channel.ts'
import { createLegacySession, SUBSCRIBE_MS } from './legacy-session.ts'
import { openSession } from './open-session.ts'
import type { RequestOptions } from './peer.ts'

const BROKEN = new SendFailure('It broke.', { wasSent: 'maybe' })
const LOCKED_OUT = new SendFailure('It lets nobody in.', { wasSent: 'turnedAway', status: 401 })
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
  const watch = (...uris: string[]) => made.session.watch(new Set(uris))
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

it('subscribes again once the server has answered that it tells no more, so that neither overtakes the other', async () => {
  const { watch, answer, sent } = subscribing()
  watch('a')
  await answer()
  watch()
  watch('a')
  expect(sent()).toEqual(['subscribe a', 'unsubscribe a'])
  await answer()
  expect(sent()).toEqual(['subscribe a', 'unsubscribe a', 'subscribe a'])
})

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

it('takes for changed whatever a server could have told of while it was not heard', () => {
  const { watch, listener, told } = subscribing({ tools: {}, resources: {} })
  watch('a', 'b')
  listener.missed?.()
  expect(told).toEqual(['tools', 'resources', 'a changed', 'b changed'])
})

it('gives up an exchange in which the server does not say whether it has subscribed, and begins another', async () => {
  const signals: CancelSignal[] = []
  const request = (_method: string, _params: Params, { signal }: RequestOptions) => {
    signals.push(signal)
    return untilAborted(signal)
  }
  const clock = createFakeClock()
  const { session } = createLegacySession(bareLine({ request }), factsOf(), { clock, events: NO_EVENTS })
  session.watch(new Set(['desk://a']))
  await clock.advance(SUBSCRIBE_MS - 1)
  expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  await clock.advance(1)
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  await clock.advance(500)
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
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

  it.each([
    { asks: 5_000, waits: 5_000 },
    { asks: 3_600_000, waits: 60_000 },
  ])('is left alone for as long as it asks, a minute at most ($asks)', async ({ asks, waits }) => {
    const { watch, fail, sent, clock } = subscribing()
    watch('a')
    await fail(new SendFailure('It is busy.', { wasSent: 'no', status: 429, retryAfterMs: asks }))
    await clock.advance(waits - 1)
    expect(sent()).toHaveLength(1)
    await clock.advance(1)
    expect(sent()).toHaveLength(2)
  })

  it('may have changed something there before it could be', async () => {
    const { watch, fail, answer, told, clock } = subscribing()
    watch('a')
    await fail(BROKEN)
    await clock.advance(500)
    expect(told).toEqual([])
    await answer()
    expect(told).toEqual(['a changed'])
  })

  it('is not asked again once nobody wants to hear of it', async () => {
    const { watch, fail, answer, sent, clock } = subscribing()
    watch('a')
    await fail(BROKEN)
    watch()
    await clock.breathe()
    await answer()
    await clock.advance(120_000)
    // It may have heard of the first.
    expect(sent()).toEqual(['subscribe a', 'unsubscribe a'])
    expect(clock.waiting()).toBe(0)
  })

  it('is asked at once for who wants to hear of it anew', async () => {
    const { watch, fail, sent, clock } = subscribing()
    watch('a')
    await fail(BROKEN)
    watch()
    watch('a')
    await clock.breathe()
    expect(sent()).toEqual(['subscribe a', 'subscribe a'])
  })

  it('is not asked after the end of the session, nor does anything wait for that', async () => {
    const { watch, fail, end, sent, told, clock } = subscribing()
    watch('a')
    await fail(BROKEN)
    expect(clock.waiting()).toBe(1)
    await end()
    watch('b')
    await clock.advance(120_000)
    expect([sent(), told, clock.waiting()]).toEqual([['subscribe a'], [], 0])
  })

  it('is not asked for ever where it lets us in for everything else, and not for that', async () => {
    const { watch, fail, sent, told, clock } = subscribing()
    watch('a')
    for (let times = 1; times <= 5; times++) {
      await fail(LOCKED_OUT)
      await clock.advance(30_000)
    }
    expect(sent()).toHaveLength(5)
    expect(told).toEqual(['a: It lets nobody in. It is asked again.', 'a: It lets nobody in.'])
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

  it('is asked for the others while some wait until they are asked for again', async () => {
    const { watch, asked, sent, clock } = subscribing()
    watch(...NUMBERS)
    for (const { answer } of asked.slice(0, 8)) answer.reject(BROKEN)
    await clock.breathe()
    expect(sent()).toEqual(subscribed(0, 16))
    await clock.advance(500)
    for (const { answer } of asked.slice(8, 16)) answer.resolve({})
    await clock.breathe()
    expect(sent()).toEqual([...subscribed(0, 20), ...subscribed(0, 4)])
  })

  it('is not asked for one that nobody wants any more when it is its turn, nor to be silent there', async () => {
    const { watch, asked, sent, clock } = subscribing()
    watch(...NUMBERS)
    watch(...NUMBERS.slice(0, 8), ...NUMBERS.slice(18))
    asked[0]?.answer.resolve({})
    asked[1]?.answer.resolve({})
    asked[2]?.answer.resolve({})
    await clock.breathe()
    expect(sent()).toEqual([...subscribed(0, 8), ...subscribed(18, 20)])
    watch(...NUMBERS.slice(0, 8), '9', ...NUMBERS.slice(18))
    expect(sent().at(-1)).toBe('subscribe 9')
  })

  it('is asked for none of the others after the end of the session', async () => {
    const { watch, asked, sent, clock, end } = subscribing()
    watch(...NUMBERS)
    await end()
    for (const { answer } of asked) answer.reject(BROKEN)
    await clock.advance(60_000)
    expect(sent()).toEqual(subscribed(0, 8))
  })
})

describe('what changes before a server has answered that it tells of it', () => {
  it('is told of where that took more than a moment', async () => {
    const { watch, answer, told, clock } = subscribing()
    watch('a')
    await clock.advance(3_000)
    await answer()
    expect(told).toEqual(['a changed'])
  })

  it('is nothing that anybody has read, where it answers at once', async () => {
    const { watch, answer, told, clock } = subscribing()
    watch('a')
    await clock.advance(100)
    await answer()
    expect(told).toEqual([])
  })

  it('is told of where it was asked late, because it was still being asked to be silent', async () => {
    const { watch, answer, told, clock } = subscribing()
    watch('a')
    await answer()
    watch()
    watch('a')
    await clock.advance(3_000)
    await answer()
    await answer()
    expect(told).toEqual(['a changed'])
  })

  it('is not told of where nobody wants to hear of it any more', async () => {
    const { watch, answer, told, clock } = subscribing()
    watch('a')
    await clock.advance(3_000)
    watch()
    await answer()
    expect(told).toEqual([])
  })
})

const TROUBLES: [string, (visit: Visit) => void][] = [
  ['is busy', visit => visit.json(429, undefined, { 'retry-after': '1' })],
  ['is not there behind its proxy', visit => visit.json(503)],
  ['ends the connection', visit => visit.drop()],
]

it.each(TROUBLES)('is subscribed to in the end where a server by HTTP %s for a moment', async (_trouble, fail) => {
  let asked = 0
  const server = await httpEndpoint(visit => {
    if (visit.body.method === 'resources/subscribe' && ++asked <= 3) return fail(visit)
    return answerLegacy(visit, NOTES_ANSWERS)
  })
  const clock = createFakeClock()
  const changed = deferred<string>()
  const session = await openSession(
    {
      open: openHttpChannel({ name: 'notes', url: server.url, headers: {}, clock, log() {} }),
      era: 'legacy',
      clock,
      client: { name: 'test', version: '1' },
      events: { ...NO_EVENTS, onResourceUpdated: changed.resolve },
    },
    new AbortController().signal,
  )
  onTestFinished(() => session.close())
  session.watch(new Set([URI]))
  expect(await whileAdvancing(clock, changed.promise, 50)).toBe(URI)
  expect(asked).toBe(4)
})
