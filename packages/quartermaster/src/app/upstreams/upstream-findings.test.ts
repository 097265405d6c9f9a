import { expect, it } from 'vitest'
import { UpstreamConfig, type UpstreamStatus } from '../../contracts/index.ts'
import { createHub } from '../../testing/hub.ts'
import { status } from '../../testing/upstream-fixture.ts'
import { upstreamFindings } from './upstream-findings.ts'

const REASON = 'It does not work.'

/** The findings about one upstream, for an `up` or for a single command. */
async function findingsOf(given: Partial<UpstreamStatus>, from: 'up' | 'process' = 'up') {
  const { catalogue } = await createHub()
  const upstream: UpstreamStatus = { ...status('notes', 'down'), reason: REASON, ...given }
  const configured = new Map([['notes', UpstreamConfig.parse({ command: 'server' })]])
  const project = { upstreams: () => configured, upstreamsLeftOut: () => new Map() }
  return upstreamFindings({ upstreams: { statuses: () => [upstream] }, core: { catalogue }, project, from })
}

const LOGS = 'See what it said: quartermaster logs notes'
const WAIT = 'Wait for it: quartermaster upstreams restart notes, or: quartermaster up'
const TRY = 'Correct what is said here, then try it: quartermaster upstreams restart notes'

it.each([
  [{ state: 'down', hasSpoken: true }, 'up', 'error', LOGS],
  [{ state: 'down' }, 'up', 'error', 'Correct what is said here; it is tried again.'],
  [{ state: 'recovering', hasSpoken: true }, 'process', 'error', TRY],
  [{ state: 'starting' }, 'up', 'warning', 'See how it is: quartermaster upstreams'],
  [{ state: 'starting', isFetching: true }, 'process', 'warning', WAIT],
  [{ state: 'idle', isFetching: true }, 'up', 'warning', 'Have it started: quartermaster up'],
] as const)('names the next step for %j (%s)', async (given, from, level, fix) => {
  expect(await findingsOf(given, from)).toEqual([{ level, what: expect.stringContaining(REASON), fix }])
})

it('warns of an upstream that is up and refuses its own tools, until a call succeeds', async () => {
  const message = 'It answers, but refused "read" for "bob": Sign in: quartermaster login notes --agent bob'
  const refused = { state: 'up' as const, lastError: { message, at: 1, isStanding: true as const } }
  expect(await findingsOf(refused)).toEqual([
    {
      level: 'warning',
      what: 'Upstream "notes" is up, but not for everything: It answers, but refused "read" for "bob":',
      fix: 'Sign in: quartermaster login notes --agent bob',
    },
  ])
  expect(await findingsOf({ ...refused, lastError: { message, at: 1 } })).toMatchObject([{ level: 'ok' }])
})

it('warns of an agent that cannot reach an upstream which is up for others, and of one that sees other tools', async () => {
  const failing = [{ agent: 'bob', reason: 'It lets nobody in. Sign in: quartermaster login notes --agent bob' }]
  const differing = [{ agent: 'ada', definitions: ['tool:read', 'tool:write'] }]
  expect(await findingsOf({ state: 'up', failing, differing })).toMatchObject([
    { level: 'ok' },
    {
      what: 'Upstream "notes" could not be reached for "bob": It lets nobody in.',
      fix: 'Sign in: quartermaster login notes --agent bob',
    },
    { what: expect.stringMatching(/^The server that "ada" has to itself at "notes" describes tool:read, tool:write/) },
  ])
})
