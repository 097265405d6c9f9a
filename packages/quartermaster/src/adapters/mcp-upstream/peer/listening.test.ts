import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { factsOf, NO_EVENTS } from '../testing/bare-session.ts'
import { acknowledgementOf, askingBeside, lineTo, telling } from '../testing/listening-fixture.ts'
import { SendFailure } from './channel.ts'
import { createModernSubscriptions } from './modern-subscriptions.ts'

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
  const rpc = lineTo(peer.request, close)
  const listening = createModernSubscriptions({
    rpc,
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
