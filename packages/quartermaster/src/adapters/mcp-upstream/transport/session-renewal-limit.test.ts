import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Request } from '../../mcp-wire/index.ts'
import { createSessionRenewalLimit, RAREST_TRIAL_MS, SOONEST_TRIAL_MS, USELESS_MS } from './http-rejections.ts'

const read = (path: string, progressToken = 0): Request => {
  const params = { name: 'read', arguments: { path }, _meta: { progressToken } }
  return { jsonrpc: '2.0', id: progressToken, method: 'tools/call', params }
}
const NOTES = read('notes')

it('makes new sessions ever more seldom where they do not help, and soon again after a time without any', async () => {
  const clock = createFakeClock()
  const renewalLimit = createSessionRenewalLimit(clock)
  for (const seconds of [5, 20, 80, 320, 600, 600]) {
    expect([renewalLimit.begin(NOTES), renewalLimit.begin(NOTES)]).toEqual([true, false])
    await clock.advance(seconds * 1_000 - 1)
    // Somebody uses it.
    renewalLimit.onAccepted(read('others'))
    expect(renewalLimit.begin(NOTES)).toBe(false)
    await clock.advance(1)
  }
  renewalLimit.onAccepted(NOTES)
  await clock.advance(RAREST_TRIAL_MS)
  expect(renewalLimit.begin(NOTES)).toBe(true)
  await clock.advance(SOONEST_TRIAL_MS)
  expect(renewalLimit.begin(NOTES)).toBe(true)
})
it('makes another one after half a minute in which every call was refused, as nobody has anything of that one', async () => {
  const clock = createFakeClock()
  const renewalLimit = createSessionRenewalLimit(clock)
  for (const seconds of [5, 20, 80]) {
    expect(renewalLimit.begin(NOTES)).toBe(true)
    await clock.advance(seconds * 1_000)
  }
  for (let times = 1; times <= 5; times++) {
    expect([renewalLimit.begin(read(`${times}`)), renewalLimit.begin(NOTES)]).toEqual([true, false])
    await clock.advance(USELESS_MS - 1)
    renewalLimit.onAccepted({ jsonrpc: '2.0', id: 'look', method: 'tools/list' })
    expect(renewalLimit.begin(NOTES)).toBe(false)
    await clock.advance(1)
  }
})
