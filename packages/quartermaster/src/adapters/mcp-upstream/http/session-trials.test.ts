import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Request } from '../../mcp-wire/index.ts'
import { createSessionTrials, RAREST_TRIAL_MS, SOONEST_TRIAL_MS, USELESS_MS } from './session-trials.ts'

const read = (path: string, progressToken = 0): Request => {
  const params = { name: 'read', arguments: { path }, _meta: { progressToken } }
  return { jsonrpc: '2.0', id: progressToken, method: 'tools/call', params }
}
const NOTES = read('notes')

it('makes new sessions ever more seldom where they do not help, and soon again after a time without any', async () => {
  const clock = createFakeClock()
  const trials = createSessionTrials(clock)
  for (const seconds of [5, 20, 80, 320, 600, 600]) {
    expect([trials.begin(NOTES), trials.begin(NOTES)]).toEqual([true, false])
    await clock.advance(seconds * 1_000 - 1)
    // Somebody uses it.
    trials.letIn(read('others'))
    expect(trials.begin(NOTES)).toBe(false)
    await clock.advance(1)
  }
  trials.letIn(NOTES)
  await clock.advance(RAREST_TRIAL_MS)
  expect(trials.begin(NOTES)).toBe(true)
  await clock.advance(SOONEST_TRIAL_MS)
  expect(trials.begin(NOTES)).toBe(true)
})

it('makes another one soon where one has helped: what was refused in the session before is let in', async () => {
  const clock = createFakeClock()
  const trials = createSessionTrials(clock)
  for (const again of [NOTES, read('letters', 7), NOTES]) {
    expect(trials.begin(NOTES)).toBe(true)
    trials.join(read('letters'))
    trials.letIn(again)
    await clock.advance(SOONEST_TRIAL_MS)
  }
  expect(trials.begin(NOTES)).toBe(true)
  await clock.advance(SOONEST_TRIAL_MS)
  expect(trials.begin(NOTES)).toBe(true)
})

it('makes another one after half a minute in which every call was refused, as nobody has anything of that one', async () => {
  const clock = createFakeClock()
  const trials = createSessionTrials(clock)
  for (const seconds of [5, 20, 80]) {
    expect(trials.begin(NOTES)).toBe(true)
    await clock.advance(seconds * 1_000)
  }
  for (let times = 1; times <= 5; times++) {
    expect([trials.begin(read(`${times}`)), trials.begin(NOTES)]).toEqual([true, false])
    await clock.advance(USELESS_MS - 1)
    trials.letIn({ jsonrpc: '2.0', id: 'look', method: 'tools/list' })
    expect(trials.begin(NOTES)).toBe(false)
    await clock.advance(1)
  }
})
