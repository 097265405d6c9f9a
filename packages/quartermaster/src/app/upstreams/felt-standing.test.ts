import { expect, it } from 'vitest'
import type { UpstreamStatus } from '../../contracts/index.ts'
import { asHealthDecided } from './upstream-status.ts'

const WENT = 'It ended with exit code 7.'
const OWES = 'It answers again, but it went away 4 times of late: 1 of 3 good probes, over 5 s at least.'

it.each([
  ['down', { state: 'recovering', reason: WENT, since: 40 }, { state: 'recovering', reason: WENT, since: 40 }],
  ['recovering', { state: 'down', reason: WENT, since: 40 }, { state: 'down', reason: WENT, since: 40 }],
  ['up', { state: 'down', reason: OWES, since: 40 }, { state: 'down', reason: OWES, since: 40 }],
  // Its fall is told first, and health looks at once.
  ['recovering', { state: 'up', reason: 'It answers.', since: 40 }, { state: 'recovering', reason: WENT, since: 10 }],
  ['needsLogin', { state: 'down', reason: WENT, since: 40 }, { state: 'needsLogin', reason: WENT, since: 10 }],
  ['starting', { state: 'recovering', reason: WENT, since: 40 }, { state: 'starting', reason: WENT, since: 10 }],
] as const)('tells of an upstream whose connection is %s the same as the status does', (state, felt, told) => {
  const status = { name: 'crm', state, reason: WENT, since: 10 } as UpstreamStatus
  expect(asHealthDecided([status], [{ name: 'upstream-crm', ...felt }])).toMatchObject([told])
})

it.each([
  ['before it came up', { checkedAt: 10 }, 'starting'],
  ['since', { checkedAt: 11 }, 'down'],
  ['in that moment, and found that it answers', { checkedAt: 10, isProving: true }, 'down'],
] as const)('tells of one that is up as one that starts where health has looked last %s', (_, felt, state) => {
  const status = { name: 'crm', state: 'up', reason: 'It answers.', since: 10 } as UpstreamStatus
  const dependency = { name: 'upstream-crm', state: 'down', reason: WENT, since: 5, ...felt } as const
  expect(asHealthDecided([status], [dependency])).toMatchObject([
    { state, reason: expect.stringMatching(state === 'starting' ? /about to be there/ : WENT) },
  ])
})

it('leaves an upstream as it is that nobody has looked at', () => {
  const status = { name: 'crm', state: 'up', reason: 'It answers.', since: 10 } as UpstreamStatus
  expect(asHealthDecided([status], [])).toEqual([status])
})
