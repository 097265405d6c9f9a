import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { factsOf, NO_EVENTS } from '../testing/bare-session.ts'
import { SendFailure } from './channel.ts'
import type { Line } from './line.ts'
import { keepListening } from './listening.ts'
import { RpcError } from './rpc-error.ts'

function lineTo(request: (...asked: never[]) => Promise<unknown>, close = async () => {}): Line {
  let id = 0
  const begin = (...asked: never[]) => ({ id: id++, answer: request(...asked) })
  return { begin, close, ended: new Promise(() => {}) } as unknown as Line
}

it('begins anew where it broke off, and leaves the line to everybody else', async () => {
  const clock = createFakeClock()
  const seen = { asked: 0, closed: 0, changed: [] as string[] }
  const peer = {
    async request() {
      seen.asked++
      if (seen.asked < 3) throw new SendFailure('Its name could not be looked up.', { wasSent: 'no' })
      return new Promise(() => {})
    },
  }
  const close = async () => void seen.closed++
  const line = lineTo(peer.request, close)
  const listening = keepListening({
    line,
    facts: factsOf({ era: 'modern', capabilities: { tools: {} } }),
    clock,
    events: { ...NO_EVENTS, onListChanged: kind => void seen.changed.push(kind) },
    envelope: () => ({}),
  })
  await clock.advance(10_000)
  expect(seen).toEqual({ asked: 3, closed: 0, changed: [] })
  expect(listening.since()).toBeUndefined()
  listening.acknowledged()
  expect([listening.since(), seen.changed]).toEqual([clock.now(), ['tools']])
  listening.stop()
  expect(listening.since()).toBeUndefined()
})

/** A server that tells as long as a test wants. */
function telling() {
  const clock = createFakeClock()
  const streams: {
    uris: unknown
    signal: AbortSignal
    end(): void
    refuse(code: number, uri?: string): void
    lose(retryAfterMs?: number): void
  }[] = []
  const lines: string[] = []
  const updated: string[] = []
  const changed: string[] = []
  const peer = {
    request: (_: string, params: Params, { signal }: { signal: AbortSignal }) =>
      new Promise((end, reject) => {
        const { resourceSubscriptions } = params['notifications'] as Params
        const refuse = (code: number, uri?: string) =>
          reject(new RpcError({ code, message: 'No.', data: uri === undefined ? undefined : { uri } }))
        const lose = (retryAfterMs?: number) =>
          reject(new SendFailure('It is busy.', { wasSent: 'no', status: 429, retryAfterMs }))
        streams.push({ uris: resourceSubscriptions, signal, end: () => end({}), refuse, lose })
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  }
  const listening = keepListening({
    line: lineTo(peer.request),
    facts: factsOf({ era: 'modern', capabilities: { tools: {} } }),
    clock,
    events: {
      ...NO_EVENTS,
      onListChanged: kind => void changed.push(kind),
      onResourceUpdated: uri => void updated.push(uri),
      onLog: (_, text) => void lines.push(text),
    },
    envelope: () => ({}),
  })
  const open = () => streams.filter(({ signal }) => !signal.aborted).map(({ uris }) => uris)
  return { clock, streams, updated, changed, lines, listening, open }
}

it('hears without a break while it asks for other addresses', async () => {
  const { clock, listening, open, updated } = telling()
  listening.acknowledged()
  const since = listening.since()
  await clock.advance(100)
  listening.watch(new Set(['x://1', 'x://2']))
  expect(open()).toEqual([undefined, ['x://1', 'x://2']])
  listening.acknowledged()
  expect([open(), listening.since()]).toEqual([[['x://1', 'x://2']], since])
  expect(updated).toEqual([])
  listening.watch(new Set())
  listening.acknowledged()
  expect(open()).toEqual([undefined])
})

it('says that something may have changed where it has not heard for a while, once it hears again', async () => {
  const { clock, listening, streams, updated } = telling()
  listening.acknowledged()
  listening.watch(new Set(['x://1', 'x://2']))
  listening.acknowledged()
  streams.at(-1)?.end()
  await clock.advance(1_000)
  expect([streams.length, listening.since(), updated]).toEqual([3, undefined, []])
  listening.acknowledged()
  expect(updated).toEqual(['x://1', 'x://2'])
  listening.acknowledged()
  expect(updated).toHaveLength(2)
})

it('says so of streams that never last every 30 s at most, and never leaves the last time out', async () => {
  const { clock, listening, streams, updated } = telling()
  listening.acknowledged()
  listening.watch(new Set(['x://1']))
  listening.acknowledged()
  for (let round = 0; round < 60; round++) {
    streams.at(-1)?.end()
    await clock.advance(1_000)
    listening.acknowledged()
    await clock.advance(2_000)
  }
  // At 1, 6, 16, 36 and every 30 s from then on.
  expect(updated).toHaveLength(8)
  await clock.advance(30_000)
  expect(updated).toHaveLength(9)
  await clock.advance(300_000)
  expect(updated).toHaveLength(9)
})

it('does the same where the one before broke before the next one told', async () => {
  const { clock, listening, streams, updated } = telling()
  listening.acknowledged()
  listening.watch(new Set(['x://1']))
  listening.acknowledged()
  listening.watch(new Set(['x://1', 'x://2']))
  streams[1]?.end()
  await clock.advance(20_000)
  // The next one is there already.
  expect([streams.length, listening.since()]).toEqual([3, undefined])
  listening.acknowledged()
  expect(updated).toEqual(['x://1', 'x://2'])
})

it('asks again where it was refused for now, and says so once', async () => {
  const { clock, listening, streams, lines, updated } = telling()
  listening.acknowledged()
  listening.watch(new Set(['x://1']))
  listening.acknowledged()
  streams.at(-1)?.end()
  // Once for a moment, then for the address, and for the lists alone.
  for (const [ms, uris] of [
    [1_000, ['x://1']],
    [2_000, ['x://1']],
    [0, undefined],
    [4_000, ['x://1']],
    [0, undefined],
  ] as const) {
    await clock.advance(ms)
    expect(streams.at(-1)?.uris).toEqual(uris)
    streams.at(-1)?.refuse(-32_603)
  }
  await clock.advance(30_000)
  listening.acknowledged()
  expect([streams.length, lines, updated]).toEqual([8, ['It does not tell of changes: No.'], ['x://1']])
})

it('does not ask again where that is not known', async () => {
  const { clock, streams } = telling()
  streams.at(-1)?.refuse(-32_601)
  await clock.advance(600_000)
  expect(streams).toHaveLength(1)
})

it.each([-32_603, -32_602])('ends the one before where the server has no place for two (%i)', async code => {
  const { clock, listening, streams, open, updated } = telling()
  listening.acknowledged()
  listening.watch(new Set(['x://1']))
  const refuse = async (ms: number) => {
    streams.at(-1)?.refuse(code)
    await clock.advance(ms)
  }
  // One that only fails may do so for a moment.
  if (code === -32_603) await refuse(1_000)
  await refuse(0)
  expect(streams.map(({ uris }) => uris).slice(-2)).toEqual([['x://1'], undefined])
  expect(streams[0]?.signal.aborted).toBe(false)
  await refuse(0)
  expect(streams[0]?.signal.aborted).toBe(true)
  await clock.advance(2_000)
  expect(open().at(-1)).toEqual(['x://1'])
  listening.acknowledged()
  expect(updated).toEqual(['x://1'])
})

it('goes on without an address that the server refuses for good', async () => {
  const { clock, listening, streams } = telling()
  listening.acknowledged()
  listening.watch(new Set(['x://1']))
  listening.acknowledged()
  listening.watch(new Set(['x://1', 'x://bad']))
  streams.at(-1)?.refuse(-32_602)
  await clock.advance(20_000)
  // What it tells of was asked for once more: it may have been for that.
  expect(streams.slice(2).map(({ uris }) => uris)).toEqual([['x://1', 'x://bad'], ['x://1']])
  listening.acknowledged()
  await clock.advance(60_000)
  expect([streams.length, listening.since() !== undefined]).toEqual([4, true])
  // Also once the one that it has breaks.
  streams[3]?.end()
  await clock.advance(1_000)
  expect(streams.slice(4).map(({ uris }) => uris)).toEqual([['x://1']])
})

/** A server with its stream, and another one that was asked for beside it. */
async function askingBeside() {
  const desk = telling()
  desk.listening.acknowledged()
  desk.listening.watch(new Set(['x://1']))
  desk.listening.acknowledged()
  desk.listening.watch(new Set(['x://1', 'x://2']))
  return desk
}

const acknowledgementOf = (id: number, notifications: Params) => ({
  notifications,
  _meta: { 'io.modelcontextprotocol/subscriptionId': id },
})

it('asks ever more seldom where the server agrees to tell of nothing, and tells nobody of that', async () => {
  const { clock, listening, streams, lines, updated, changed } = telling()
  const round = async (seconds: number) => {
    listening.acknowledged(acknowledgementOf(streams.length - 1, {}))
    await clock.advance(2_000)
    streams.at(-1)?.end()
    await clock.advance(seconds * 1_000)
  }
  listening.watch(new Set(['x://1']))
  await clock.advance(1_000)
  for (let doublings = 0; doublings < 9; doublings++) await round(2 ** doublings)
  expect([streams.length, listening.since(), updated, changed, lines]).toEqual([11, undefined, [], [], []])
  await round(299)
  expect(streams).toHaveLength(11)
  listening.watch(new Set(['x://2']))
  expect(streams.at(-1)?.uris).toEqual(['x://2'])
  // It may have learned to.
  listening.acknowledged(acknowledgementOf(11, { toolsListChanged: true, resourceSubscriptions: ['x://2'] }))
  expect([listening.since(), updated, changed]).toEqual([clock.now(), [], []])
})

it('says what may have changed where the server agrees to nothing for a while that told before', async () => {
  const { clock, listening, streams, updated } = await askingBeside()
  listening.acknowledged(acknowledgementOf(2, {}))
  expect(listening.since()).toBeUndefined()
  streams.at(-1)?.end()
  await clock.advance(1_000)
  listening.acknowledged()
  expect([listening.since(), updated]).toEqual([clock.now(), ['x://1', 'x://2']])
})

it('says of an address that it may have changed once the server agrees to it later', async () => {
  const { clock, listening, streams, updated } = await askingBeside()
  listening.acknowledged(acknowledgementOf(2, { toolsListChanged: true, resourceSubscriptions: ['x://1'] }))
  await clock.advance(1_000)
  listening.watch(new Set(['x://1', 'x://2', 'x://3']))
  const all = ['x://1', 'x://2', 'x://3']
  listening.acknowledged(acknowledgementOf(3, { toolsListChanged: true, resourceSubscriptions: all }))
  expect([streams.length, updated]).toEqual([4, ['x://2']])
})

async function loseAll({ clock, streams }: ReturnType<typeof telling>, until: () => boolean): Promise<void> {
  for (let round = 0; round < 100 && !until(); round++) {
    streams.at(-1)?.lose()
    await clock.advance(streams.at(-1)?.signal.aborted ? 1_000 : 29_000)
  }
}

it('makes room where the server is not to be reached with a second stream for half a minute', async () => {
  const desk = telling()
  const { clock, listening, streams, updated } = desk
  listening.acknowledged()
  listening.watch(new Set(['x://1']))
  const isGivenUp = () => streams[0]?.signal.aborted === true
  await loseAll(desk, isGivenUp)
  await clock.advance(1_000)
  expect([isGivenUp(), streams.at(-1)?.uris]).toEqual([true, ['x://1']])
  listening.acknowledged()
  expect(updated).toEqual(['x://1'])
})

it('keeps the stream that it has for minutes where others are not let through, and there was room for two', async () => {
  const desk = await askingBeside()
  const begunAt = desk.clock.now()
  const isGivenUp = () => desk.streams[1]?.signal.aborted === true
  await loseAll(desk, () => isGivenUp() || desk.clock.now() - begunAt > 300_000)
  expect(isGivenUp()).toBe(false)
  await loseAll(desk, isGivenUp)
  expect(isGivenUp()).toBe(true)
})

it('does not take a stream on which nothing is told for one of two', async () => {
  const desk = telling()
  const { clock, listening, streams } = desk
  listening.acknowledged(acknowledgementOf(0, {}))
  listening.watch(new Set(['x://1']))
  listening.acknowledged()
  listening.watch(new Set(['x://1', 'x://2']))
  const begunAt = clock.now()
  const isGivenUp = () => streams[1]?.signal.aborted === true
  await loseAll(desk, () => isGivenUp() || clock.now() - begunAt > 300_000)
  expect(isGivenUp()).toBe(true)
})

it('waits for a server that acknowledges, and not as long for one that never did', async () => {
  const { clock, listening, streams } = telling()
  listening.watch(new Set(['x://1']))
  await clock.advance(500)
  expect(streams).toHaveLength(2)
  listening.acknowledged()
  listening.watch(new Set(['x://1', 'x://2']))
  listening.watch(new Set(['x://1', 'x://2', 'x://3']))
  await clock.advance(4_999)
  expect(streams).toHaveLength(3)
  await clock.advance(1)
  expect(streams.at(-1)?.uris).toEqual(['x://1', 'x://2', 'x://3'])
})

it('says again that it does not tell, once it has told meanwhile', async () => {
  const { clock, listening, streams, lines } = telling()
  const fail = async () => {
    for (let time = 0; time < 3; time++) {
      streams.at(-1)?.refuse(-32_603)
      await clock.advance(30_000)
    }
  }
  await fail()
  expect(lines).toHaveLength(1)
  listening.acknowledged()
  streams.at(-1)?.end()
  await clock.advance(1_000)
  await fail()
  expect(lines).toEqual(Array.from({ length: 2 }, () => 'It does not tell of changes: No.'))
})

it('hears on a stream that a server never acknowledges, however often it ends', async () => {
  const { clock, listening, streams, lines } = telling()
  listening.watch(new Set(['x://1']))
  for (let minute = 0; minute < 10; minute++) {
    await clock.advance(60_000)
    streams.at(-1)?.end()
    await clock.advance(1_000)
  }
  expect(streams.slice(1).map(({ uris }) => uris)).toEqual(Array.from({ length: 11 }, () => ['x://1']))
  expect(lines).toEqual([])
})

it('says so where such a stream never opens, however long it takes to fail', async () => {
  const { clock, streams, lines } = telling()
  for (let minute = 0; minute < 10; minute++) {
    await clock.advance(60_000)
    streams.at(-1)?.lose()
  }
  expect(lines).toEqual(['It does not tell of changes: It is busy.'])
})

it('asks no sooner than a second after everything was refused, however many come and go', async () => {
  const { clock, listening, streams } = telling()
  streams.at(-1)?.refuse(-32_601)
  await clock.advance(0)
  for (const uri of ['x://1', 'x://2', 'x://3']) listening.watch(new Set([uri]))
  await clock.advance(999)
  expect(streams).toHaveLength(1)
  await clock.advance(1)
  expect(streams.map(({ uris }) => uris)).toEqual([undefined, ['x://3']])
})

it('is over when it is stopped', async () => {
  const { clock, listening, streams, updated } = await askingBeside()
  streams.at(-1)?.refuse(-32_603, 'x://2')
  await clock.advance(0)
  streams[1]?.end()
  await clock.advance(0)
  listening.stop()
  await clock.advance(3_600_000)
  expect([streams.length, listening.since(), updated]).toEqual([3, undefined, []])
})

it('leaves a server alone for as long as it asks for, a minute at most', async () => {
  const { clock, listening, streams } = await askingBeside()
  streams.at(-1)?.lose(20_000)
  await clock.advance(10_000)
  listening.watch(new Set(['x://1', 'x://2', 'x://3']))
  await clock.advance(9_000)
  expect(streams).toHaveLength(3)
  await clock.advance(1_000)
  expect(streams).toHaveLength(4)
  streams.at(-1)?.lose(3_600_000)
  await clock.advance(60_000)
  expect(streams).toHaveLength(5)
})

it('does not wait for ever for a stream that is neither acknowledged nor ended', async () => {
  const { clock, streams, listening, open } = await askingBeside()
  await clock.advance(30_000)
  expect(streams[2]?.signal.aborted).toBe(true)
  await clock.advance(1_000)
  expect(open()).toEqual([['x://1'], ['x://1', 'x://2']])
  listening.acknowledged()
  await clock.advance(600_000)
  expect(streams).toHaveLength(4)
})

it('keeps what it hears of where the server names the address that it fails at', async () => {
  const { clock, streams } = await askingBeside()
  streams.at(-1)?.refuse(-32_603, 'x://2')
  await clock.advance(50_000)
  expect([streams.length, streams[1]?.signal.aborted]).toEqual([3, false])
})

it('asks again for what was put off though somebody has left another one meanwhile and come back', async () => {
  const { clock, listening, streams } = await askingBeside()
  streams.at(-1)?.refuse(-32_603, 'x://2')
  await clock.advance(1_000)
  listening.watch(new Set(['x://2']))
  listening.watch(new Set(['x://1', 'x://2']))
  await clock.advance(10_000)
  expect(streams.map(({ uris }) => uris).slice(3)).toEqual([undefined])
  await clock.advance(60_000)
  expect(streams.at(-1)?.uris).toEqual(['x://1', 'x://2'])
})

it('asks ever more seldom where it was never told of anything', async () => {
  const { clock, streams, lines } = telling()
  const askedIn = async (minutes: number) => {
    const before = streams.length
    for (let second = 0; second < 60 * minutes; second++) {
      streams.at(-1)?.refuse(-32_603)
      await clock.advance(1_000)
    }
    return streams.length - before
  }
  await askedIn(10)
  expect([await askedIn(30), lines]).toEqual([6, ['It does not tell of changes: No.']])
})
