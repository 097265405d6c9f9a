import { expect, it } from 'vitest'
import type { LeftBehind, UpstreamAuth } from '../../adapters/mcp-upstream/index.ts'
import { DEFAULT_ORGANISATION, UpstreamConfig } from '../../contracts/index.ts'
import { RemoteFailure } from '../../core/external-peers/index.ts'
import { openExternalPeers } from '../../testing/external-peer-fixture.ts'
import { consentFindings, entryFindings, leftBehindFindings, loginFindings, peerFindings } from './doctor.ts'

const REMOTE = UpstreamConfig.parse({ url: 'https://crm.example/mcp' })

it('names settings of an upstream for agents and consent operations that do not exist', () => {
  const agents = { adda: { headers: {} }, bob: { headers: {} } }
  const consentOperations = { 'crm.wrote': { weight: 'low' }, 'crm.write': { weight: 'low' } } as const
  const entry = UpstreamConfig.parse({
    url: 'https://crm.example/mcp',
    agents,
    consentOperations,
    tools: { send: { consent: ['crm.write'] } },
  })
  expect(entryFindings(new Map([['crm', entry]]), ['ada', 'bob'])).toMatchObject([
    {
      where: 'mcpServers.crm.agents.adda',
      what: 'The entry of "crm" has credentials of "adda" and there is no agent "adda", so they are unused. Did you mean "ada"?',
    },
    {
      where: 'mcpServers.crm.consentOperations.crm.wrote',
      what: 'No tool of "crm" asks for the consent operation "crm.wrote". Did you mean "crm.write"?',
    },
  ])
})

it('names a consent operation whose reason has invisible characters', () => {
  const operations = [
    { name: 'mail.send', reason: 'Sends a mail.', weight: 'low' },
    { name: 'mail.purge', reason: 'Deletes \u202ellam\u200b', weight: 'high' },
  ] as const
  const consentOperations = new Map(operations.map(one => [one.name, { ...one, grantable: 'any' as const }]))
  expect(consentFindings({ consentOperations })).toMatchObject([
    { what: expect.stringContaining('"mail.purge" has characters that cannot be seen: "Deletes \\u202ellam\\u200b"') },
  ])
})

it('warns of stored logins without an entry, and notes pins, also where another node may have the entry', async () => {
  const found = (all: LeftBehind[], databaseUrl?: string) =>
    leftBehindFindings({
      upstreams: { leftBehind: async () => all },
      project: { storeChoice: { databaseUrl, sealingKey: undefined } },
    })
  const login = { name: 'crm', pins: 3, logins: 2 }
  expect(await found([login])).toEqual([
    {
      level: 'warning',
      what: 'There are 2 logins at "crm", and the configuration has no such upstream, so no agent uses them.',
      fix: 'Put its entry back, or forget all that is known of it: quartermaster remove crm',
    },
  ])
  const [shared] = await found([login], 'postgresql://host/db')
  expect(shared?.fix).toMatch(/^Where another node on this database has it, leave it\. Otherwise/)
  const pinned = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(name => ({ name, pins: 1, logins: 0 }))
  expect(await found(pinned)).toMatchObject([{ level: 'ok', what: expect.stringContaining('"e" and 2 more') }])
})

it('names each login whose agent was removed', async () => {
  const agentsAt = async (name: string) => (name === 'crm' ? ['ada', 'bob'] : ['cy'])
  const deps = {
    project: {
      upstreams: () =>
        new Map([
          ['crm', REMOTE],
          ['files', UpstreamConfig.parse({ command: 'files' })],
        ]),
    },
    core: { agents: { has: (name: string) => name === 'bob' } },
    upstreamAuth: async () => ({ agentsAt }) as unknown as UpstreamAuth,
  }
  expect(await loginFindings(deps)).toEqual([
    {
      level: 'warning',
      what: 'There is a login of "ada" at "crm" and no agent "ada", so it is unused.',
      fix: 'Forget it: quartermaster logout crm --agent ada',
    },
  ])
})

it('says why an external peer cannot be reached, since when, and what waits for it', async () => {
  const { adaAndPainter, add, ask, another, peers, remote, clock, settle } = await openExternalPeers()
  const findings = () => peerFindings({ peers: async () => peers, storeAnswers: async () => true })
  const { ada, painter } = await adaAndPainter()
  await add({ name: 'potter' })
  const reachedAt = new Date(clock.now()).toISOString()
  expect(await findings()).toEqual([{ level: 'ok', what: 'External peers: painter, potter.' }])
  remote.fails(new RemoteFailure('unreachable', 'Nothing listens at there.example.'))
  another().start()
  await ask(ada, painter)
  await clock.advance(60_000)
  await settle()
  await peers.refresh(DEFAULT_ORGANISATION, 'painter')
  expect(await findings()).toMatchObject([
    { level: 'ok', what: 'External peers: potter.' },
    {
      level: 'warning',
      what: `External peer "painter" has not been reached since ${reachedAt}: Nothing listens at there.example. One task waits for it.`,
    },
  ])
})
