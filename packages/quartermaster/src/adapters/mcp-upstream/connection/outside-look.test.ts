import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createChangeWatch } from './connection-runner.ts'

function stage({ before, tookMs = 0 }: { before?: string; tookMs?: number } = {}) {
  const clock = createFakeClock()
  const seen = { looks: 0, changes: 0, fingerprint: 'a' as string | Error }
  const lookOutside = createChangeWatch({
    clock,
    async fingerprint() {
      seen.looks++
      if (tookMs > 0) await new Promise<void>(resolve => void clock.after(tookMs, resolve))
      if (seen.fingerprint instanceof Error) throw seen.fingerprint
      return seen.fingerprint
    },
  })
  const look = (known: string | undefined) =>
    lookOutside({
      downSince: clock.now(),
      before: known === undefined ? undefined : Promise.resolve(known),
      onChanged: () => void seen.changes++,
    })
  return { clock, seen, look, stop: look(before) }
}

it('looks often at what fell a moment ago, and four times a second at what has been down for a while', async () => {
  const { clock, seen } = stage()
  await clock.advance(1_000)
  expect(seen.looks).toBe(11)
  await clock.advance(19_000)
  const before = seen.looks
  await clock.advance(10_000)
  expect(seen.looks - before).toBe(40)
  expect(seen.changes).toBe(0)
})

it('looks about every second where a look takes its time', async () => {
  const { clock, seen } = stage({ tookMs: 30 })
  await clock.advance(20_600)
  expect(seen.looks).toBe(21)
})

it('tells at once of a repair that came while the last start was failing', async () => {
  const { clock, seen } = stage({ before: 'broken' })
  await clock.advance(0)
  expect(seen).toMatchObject({ changes: 1, looks: 1 })
})

it('tells once that something has changed, and looks no more', async () => {
  const { clock, seen } = stage()
  await clock.advance(500)
  seen.fingerprint = 'b'
  await clock.advance(100)
  const { looks } = seen
  await clock.advance(10_000)
  expect(seen).toMatchObject({ changes: 1, looks })
})

it('learns nothing from a look that fails', async () => {
  const { clock, seen } = stage()
  await clock.advance(500)
  seen.fingerprint = new Error('no such folder')
  await clock.advance(500)
  seen.fingerprint = 'a'
  await clock.advance(500)
  expect(seen.changes).toBe(0)
})

it('stops when it is told to', async () => {
  const { clock, seen, stop } = stage()
  await clock.advance(500)
  stop()
  const { looks } = seen
  seen.fingerprint = 'b'
  await clock.advance(10_000)
  expect(seen).toMatchObject({ changes: 0, looks })
})

it('takes for no repair what changes with one start after the other, and sees others on', async () => {
  const { clock, seen, look } = stage({ before: 'program log-0' })
  for (const start of [1, 2, 3]) {
    seen.fingerprint = `program log-${start}`
    if (start > 1) look(`program log-${start - 1}`)
    await clock.advance(0)
    expect(seen.changes).toBe(Math.min(start, 2))
  }
  await clock.advance(5_000)
  expect(seen.changes).toBe(2)
  seen.fingerprint = 'repaired log-3'
  await clock.advance(250)
  expect(seen.changes).toBe(3)
})
