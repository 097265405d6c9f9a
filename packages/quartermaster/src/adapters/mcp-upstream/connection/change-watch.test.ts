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
