import { describe, expect, it } from 'vitest'
import { UpstreamConfig, type UpstreamStatus } from '../../contracts/index.ts'
import { createHub } from '../../testing/hub.ts'
import { upstreamFindings } from './upstream-findings.ts'

const DOWN: UpstreamStatus = {
  name: 'notes',
  transport: 'stdio',
  target: 'server',
  state: 'down',
  reason: 'It does not work.',
  since: 0,
  tools: { offered: 2, held: 0 },
  prompts: 0,
  resources: 0,
  connections: 0,
  pids: [],
  restarts: 0,
}

/** What is told of one upstream that stands so, by an `up` or by whoever looks for one command. */
async function findingsOf(status: UpstreamStatus, entry?: Record<string, unknown>, from: 'up' | 'process' = 'up') {
  const { catalogue } = await createHub()
  const configured = entry ? new Map([[status.name, UpstreamConfig.parse(entry)]]) : new Map()
  const folders = { projectDir: '/p', dataDir: '/p/d' }
  const project = { upstreams: () => configured, upstreamsLeftOut: () => new Map(), ...folders }
  const upstreams = { statuses: () => [status] }
  return upstreamFindings({ upstreams, core: { catalogue }, project, from })
}

describe('an upstream that is down', () => {
  it('is to be read about in its log where it has said something', async () => {
    expect(await findingsOf({ ...DOWN, hasSpoken: true })).toMatchObject([
      { level: 'error', fix: 'See what it said: quartermaster logs notes' },
    ])
  })

  it('is not where it never came to say anything', async () => {
    expect(await findingsOf(DOWN)).toMatchObject([
      { level: 'error', fix: 'Correct what is said here; it is tried again.' },
    ])
  })

  it.each([undefined, 'Try it now.'])('does not recover where nobody keeps it', async unseen => {
    const status = { ...DOWN, state: 'recovering', unseen } as const
    const down = { level: 'error', what: 'Upstream "notes" is down: It does not work.' }
    expect(await findingsOf(status, undefined, 'process')).toMatchObject([down])
    const recovering = { level: 'warning', what: 'Upstream "notes" is recovering: It does not work.' }
    expect(await findingsOf(status)).toMatchObject([recovering])
  })

  it.each(['recovering', 'down'] as const)('is not tried again where nobody keeps it: %s', async state => {
    const fix = 'Correct what is said here, then try it: quartermaster upstreams restart notes'
    expect(await findingsOf({ ...DOWN, state }, undefined, 'process')).toMatchObject([{ fix }])
  })

  it('has no log where nobody keeps it, unless it would be started for that', async () => {
    const status = { ...DOWN, hasSpoken: true }
    const restart = 'Correct what is said here, then try it: quartermaster upstreams restart notes'
    expect(await findingsOf(status, undefined, 'process')).toMatchObject([{ fix: restart }])
    const logs = 'See what it said: quartermaster logs notes'
    expect(await findingsOf({ ...status, unseen: 'Try it now.' }, undefined, 'process')).toMatchObject([{ fix: logs }])
  })
})

it.each([
  ['It answers, but refused "read": Sign in: quartermaster login notes', 'Sign in: quartermaster login notes'],
  [
    'It answers, but refused "read" for "bob": Sign in: quartermaster login notes --agent bob',
    'Sign in: quartermaster login notes --agent bob',
  ],
  [
    'It answers, but refused "read" for "bob": Change "headers.Authorization".',
    'Correct what is said here, then: quartermaster upstreams restart notes',
  ],
])('that is up and refuses what it offers is told with the next step: %s', async (message, fix) => {
  const refused = { ...DOWN, state: 'up' as const, lastError: { message, at: 1, isStanding: true as const } }
  const what = expect.stringMatching(/^Upstream "notes" is up, but not for everything: It answers, but refused "read"/)
  expect(await findingsOf(refused)).toEqual([{ level: 'warning', what, fix }])
  // What went wrong before and is over is no finding.
  expect(await findingsOf({ ...refused, lastError: { message, at: 1 } })).toMatchObject([{ level: 'ok' }])
})

it.each([undefined, true])('has nothing to fix that is starting, and may be waited for', async isFetching => {
  const starting = { ...DOWN, state: 'starting' as const, isFetching }
  const look = 'See how it is: quartermaster upstreams'
  expect(await findingsOf(starting)).toMatchObject([{ level: 'warning', fix: look }])
  const wait = 'Wait for it: quartermaster upstreams restart notes, or: quartermaster up'
  for (const unseen of [wait, undefined])
    expect(await findingsOf({ ...starting, unseen }, undefined, 'process')).toMatchObject([{ fix: wait }])
})

it.each([
  ['starting', 'See how it is: quartermaster upstreams'],
  ['idle', 'Have it started: quartermaster up'],
] as const)('has nothing to fix that may have to be downloaded first: %s', async (state, fix) => {
  const what = expect.stringContaining(DOWN.reason)
  expect(await findingsOf({ ...DOWN, state, isFetching: true })).toEqual([{ level: 'warning', what, fix }])
})

it.each([
  ['It answered with HTTP 500.', {}, 'Correct what is said here; the next call of "bob" tries it again.'],
  ['It ended.', { hasSpoken: true }, 'See what it said: quartermaster logs notes'],
  ['It lets nobody in. Sign in: quartermaster login notes', {}, 'Sign in: quartermaster login notes'],
  [
    'It lets nobody in. Sign in: quartermaster login notes --agent bob',
    {},
    'Sign in: quartermaster login notes --agent bob',
  ],
])('is told with the next step where it is up for all but an agent: %s', async (reason, more, fix) => {
  const status = { ...DOWN, ...more, state: 'up' as const, failing: [{ agent: 'bob', reason }] }
  const what = `Upstream "notes" could not be reached for "bob": ${reason.replace(/ Sign in.*/, '')}`
  expect(await findingsOf(status)).toEqual([expect.objectContaining({ level: 'ok' }), { level: 'warning', what, fix }])
  // What nobody reaches is told once, and what is refused beside it as well.
  expect(await findingsOf({ ...status, state: 'down', reason })).toHaveLength(1)
  const lastError = { message: 'It answers, but refused "read".', at: 1, isStanding: true as const }
  expect(await findingsOf({ ...status, lastError })).toMatchObject([{ level: 'warning' }, { level: 'warning', what }])
})

it.each(['', ' --agent bob'])('that needs a login is told with the one that helps: %s', async whose => {
  const fix = `Sign in: quartermaster login notes${whose}`
  const what = 'Upstream "notes" needs a login: It lets nobody in.'
  const status = { ...DOWN, state: 'needsLogin' as const, reason: `It lets nobody in. ${fix}` }
  expect(await findingsOf(status)).toEqual([{ level: 'warning', what, fix }])
})

describe('an upstream that shows one agent something else', () => {
  it('is told with the agent and with what to do', async () => {
    const differing = [{ agent: 'bob', definitions: ['tool:read', 'tool:write'] }]
    const [state, found] = await findingsOf({ ...DOWN, state: 'up', differing })
    expect(state).toMatchObject({ level: 'ok' })
    expect(found).toEqual({
      level: 'warning',
      what: 'The server that "bob" has to itself at "notes" describes tool:read, tool:write otherwise than it was accepted, so "bob" cannot use that.',
      fix: 'If it is to be another server, give it an entry of its own in "mcpServers", and "bob" that capability.',
    })
  })
})
