import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { factsOf, NO_EVENTS } from '../testing/bare-session.ts'
import { SendFailure } from './channel.ts'
import type { Line } from './line.ts'
import { keepListening } from './listening.ts'

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
  const line = { peer, close, ended: new Promise(() => {}) } as unknown as Line
  const listening = keepListening({
    line,
    facts: factsOf({ era: 'modern', capabilities: { tools: {} } }),
    clock,
    events: { ...NO_EVENTS, onListChanged: kind => void seen.changed.push(kind) },
    envelope: () => ({}),
  })
  await clock.advance(10_000)
  expect(seen).toEqual({ asked: 3, closed: 0, changed: ['tools', 'tools'] })
  expect(listening.since()).toBeUndefined()
  listening.acknowledged()
  expect(listening.since()).toBe(clock.now())
  listening.watch(new Set(['x://1']))
  expect(listening.since()).toBeUndefined()
  listening.stop()
})
