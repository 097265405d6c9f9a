import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Request } from '../../mcp-wire/index.ts'
import { createSessionTrials, TRIAL_MS } from './session-trials.ts'

const clock = createFakeClock()

function request(method: string, params: Record<string, unknown>): Request {
  return { jsonrpc: '2.0', id: Math.random(), method, params }
}
const use = (name: string, path = 'a') =>
  request('tools/call', { name, arguments: { path }, _meta: { n: Math.random() } })

it('makes a new session each time that one has helped', () => {
  const trials = createSessionTrials(clock)
  for (let loss = 0; loss < 3; loss++) {
    expect(trials.begin(use('read'))).toBe(true)
    trials.taken(use('read'))
  }
})

it('makes no other one for a tool that is not found in the new one either, whatever else it does', async () => {
  const trials = createSessionTrials(clock)
  expect([trials.begin(use('read', 'gone')), trials.begin(use('read', 'gone'))]).toEqual([true, false])
  trials.taken(use('read', 'there'))
  await clock.advance(TRIAL_MS)
  expect(trials.begin(use('read', 'gone'))).toBe(false)
  expect(trials.begin(use('write'))).toBe(true)
})

it('makes one in ten minutes where it is not known to have helped, however many tools are not found', async () => {
  const trials = createSessionTrials(clock)
  expect(['a', 'b', 'c'].map(name => trials.begin(use(name)))).toEqual([true, false, false])
  trials.taken(use('a', 'something else'))
  expect(trials.begin(use('b'))).toBe(false)
  await clock.advance(TRIAL_MS)
  expect(trials.begin(use('b'))).toBe(true)
})

it('takes all resources for one', async () => {
  const trials = createSessionTrials(clock)
  const read = (uri: string) => trials.begin(request('resources/read', { uri }))
  expect([read('x:1'), read('x:1')]).toEqual([true, false])
  await clock.advance(TRIAL_MS)
  expect(read('x:2')).toBe(false)
})
