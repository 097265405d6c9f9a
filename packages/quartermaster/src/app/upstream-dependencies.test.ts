import { expect, it } from 'vitest'
import type { DependencyStatus, UpstreamStatus } from '../contracts/index.ts'
import { asUpstreams } from './upstream-dependencies.ts'

const LOGS = 'See what it says: quartermaster logs crm'
const LOGIN = 'Sign in: quartermaster login crm'
const START = 'Have it started: quartermaster upstreams restart crm, or: quartermaster up'
const OFF = 'It is switched off in the configuration.'

/** What becomes of this reason of a dependency that is down, where its server stands so. */
function told(status: Partial<UpstreamStatus>, reason: string) {
  const known = { name: 'upstream-crm', state: 'down', reason, since: 0, dependsOn: [], mend: LOGS } as DependencyStatus
  const [{ state, reason: why, mend } = known] = asUpstreams([known], [{ name: 'crm', ...status } as UpstreamStatus])
  return [state, why, mend]
}

it('tells of servers what they are, and sends nobody to read what was never said', () => {
  expect(told({ state: 'off', reason: OFF }, 'It was stopped.')).toEqual(['optedOut', OFF, undefined])
  expect(told({ state: 'needsLogin' }, `It lets nobody in. ${LOGIN}`)).toEqual(['down', 'It lets nobody in.', LOGIN])
  expect(told({ state: 'down', hasSpoken: true }, 'It ended.')).toEqual(['down', 'It ended.', LOGS])
  expect(told({ state: 'down' }, 'It ended.')).toEqual(['down', 'It ended.', undefined])
  expect(told({ state: 'idle', unseen: START }, 'It was never started.')[2]).toBe(START)
})

it('leaves everything else as it is', () => {
  const other: DependencyStatus = { name: 'crm', state: 'down', reason: '', since: 0, dependsOn: [], mend: 'Mend it.' }
  expect(asUpstreams([other], [{ name: 'crm', state: 'off' } as UpstreamStatus])).toEqual([other])
})
