import { describe, expect, it } from 'vitest'
import type { UpstreamLogLine, UpstreamStatus } from '../contracts/index.ts'
import { createHub } from '../testing/hub.ts'
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

/** What is told of one upstream that stands so and of which these lines are kept. */
async function findingsOf(status: UpstreamStatus, lines: UpstreamLogLine[] = []) {
  const { catalogue } = await createHub()
  const project = { upstreams: () => new Map(), upstreamsLeftOut: () => new Map(), projectDir: '/p', dataDir: '/p/d' }
  const upstreams = { statuses: () => [status], logs: () => lines }
  return upstreamFindings({ upstreams, core: { catalogue }, project })
}

describe('an upstream that is down', () => {
  it('is to be read about in its log where it has said something', async () => {
    const lines: UpstreamLogLine[] = [{ at: 0, from: 'stderr', text: 'No disk' }]
    expect(await findingsOf(DOWN, lines)).toMatchObject([
      { level: 'error', mend: 'See what it said: quartermaster logs notes' },
    ])
  })

  it('is not where it never came to say anything', async () => {
    const lines: UpstreamLogLine[] = [{ at: 0, from: 'gateway', text: 'There is no program "server" on the PATH.' }]
    expect(await findingsOf(DOWN, lines)).toMatchObject([
      { level: 'error', mend: 'Mend what is said here; it is tried again.' },
    ])
  })
})

describe('an upstream that shows one agent something else', () => {
  it('is told with the agent and with what to do', async () => {
    const differing = [{ agent: 'bob', definitions: ['tool:read', 'tool:write'] }]
    const [state, found] = await findingsOf({ ...DOWN, state: 'up', differing })
    expect(state).toMatchObject({ level: 'ok' })
    expect(found).toEqual({
      level: 'warning',
      what: 'The server that "bob" has to itself at "notes" describes tool:read, tool:write otherwise than it was accepted, so "bob" cannot use that.',
      mend: 'If it is to be another server, give it an entry of its own in "mcpServers", and "bob" that capability.',
    })
  })
})
