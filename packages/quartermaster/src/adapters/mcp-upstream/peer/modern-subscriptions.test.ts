import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { factsOf, NO_EVENTS } from '../testing/bare-session.ts'
import { lineTo, telling } from '../testing/listening-fixture.ts'
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
