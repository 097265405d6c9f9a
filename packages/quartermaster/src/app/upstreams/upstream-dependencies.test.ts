import { expect, it } from 'vitest'
import { SWITCHED_OFF } from '../../adapters/mcp-upstream/index.ts'
import { type DependencyStatus, UpstreamConfig, type UpstreamStatus } from '../../contracts/index.ts'
import { asUpstreams, dependencyOptionsIn } from './upstream-dependencies.ts'

const LOGS = 'See what it says: quartermaster logs crm'
const LOGIN = 'Sign in: quartermaster login crm'
const START = 'Have it started: quartermaster upstreams restart crm, or: quartermaster up'
const WRONG = 'Its entry in the configuration is wrong: no "url". `quartermaster doctor` says where.'

/** What becomes of this reason of a dependency that is down, or stands as is said, where its server stands so. */
function told(status: Partial<UpstreamStatus>, reason: string, state: DependencyStatus['state'] = 'down') {
  const known: DependencyStatus = { name: 'upstream-crm', state, reason, since: 0, dependsOn: [], fix: LOGS }
  const [found = known] = asUpstreams([known], [{ name: 'crm', ...status } as UpstreamStatus])
  return [found.state, found.reason, found.fix]
}

it('tells of servers what they are, and sends nobody to read what was never said', () => {
  const off = { state: 'off', reason: SWITCHED_OFF } as const
  expect(told(off, 'It was stopped.')).toEqual(['optedOut', SWITCHED_OFF, undefined])
  expect(told({ state: 'off', reason: WRONG }, 'It was stopped.')).toEqual(['down', WRONG, undefined])
  expect(told({ state: 'needsLogin' }, `It lets nobody in. ${LOGIN}`)).toEqual(['down', 'It lets nobody in.', LOGIN])
  const own = `${LOGIN} --agent bob`
  expect(told({ state: 'needsLogin' }, `It lets nobody in. ${own}`)).toEqual(['down', 'It lets nobody in.', own])
  expect(told({ state: 'down', hasSpoken: true }, 'It ended.')).toEqual(['down', 'It ended.', LOGS])
  expect(told({ state: 'down' }, 'It ended.')).toEqual(['down', 'It ended.', undefined])
  expect(told({ state: 'idle', unseen: START }, 'It was never started.')[2]).toBe(START)
})

it('calls no server up that was started and has never answered', () => {
  const waited = 'It was started and has not answered yet.'
  const starting = { state: 'starting', reason: waited, unseen: START } as const
  expect(told(starting, waited, 'up')).toEqual(['unknown', waited, START])
  // One that was seen before is only started again, and one that is up has answered.
  expect(told({ ...starting, unseen: undefined }, waited, 'up')[0]).toBe('up')
  expect(told({ ...starting, state: 'up' }, '', 'up')[0]).toBe('up')
})

it('calls no server recovering that was never there and is down', () => {
  const down = { state: 'down', unseen: START } as const
  expect(told(down, 'It ended.', 'recovering')).toEqual(['down', 'It ended.', START])
  expect(told({ ...down, state: 'recovering' }, 'It ended.', 'recovering')[0]).toBe('recovering')
  expect(told({ state: 'down' }, 'It ended.', 'recovering')[0]).toBe('recovering')
})

it('leaves everything else as it is', () => {
  const other: DependencyStatus = { name: 'crm', state: 'down', reason: '', since: 0, dependsOn: [], fix: 'Fix it.' }
  expect(asUpstreams([other], [{ name: 'crm', state: 'off' } as UpstreamStatus])).toEqual([other])
})

it('takes a server for switched off whose entry says so, and no other', () => {
  const url = 'https://crm.example.com/mcp'
  const project = {
    dependencyOptions: () => ({ watchIntervalSeconds: 5 }),
    upstreams: () =>
      new Map<string, UpstreamConfig>([
        ['off', UpstreamConfig.parse({ url, enabled: false })],
        ['on', UpstreamConfig.parse({ url })],
        ['wrong', { ...UpstreamConfig.parse({ url, enabled: false }), wrong: WRONG }],
      ]),
  }
  const isOff = (name: string) => dependencyOptionsIn(project, name).enabled === false
  expect(['upstream-off', 'upstream-on', 'upstream-wrong', 'off'].map(isOff)).toEqual([true, false, false, false])
  expect(dependencyOptionsIn(project, 'upstream-off')).toMatchObject({ watchIntervalSeconds: 5 })
})
