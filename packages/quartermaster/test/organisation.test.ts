import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Finding, JoinCodeFacts, PeerPage, WorkspaceFacts } from '../src/contracts/index.ts'
import { writeFiles } from './support/product.ts'
import { openFixture, type UpstreamFixture } from './support/upstream-fixture.ts'

async function ask<T>({ up }: UpstreamFixture, method: string, path: string, token: string, body?: object) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' }
  const sent = body ? { body: JSON.stringify(body) } : {}
  const answer = await fetch(`${up.url}/api/v1${path}`, { method, headers, ...sent })
  return { status: answer.status, body: (await answer.json()) as T }
}

async function treeOf(at: UpstreamFixture): Promise<string[]> {
  const workspaces = await at.control<WorkspaceFacts[]>('workspaces')
  return workspaces.map(
    ({ name, tier, status }) => `${'  '.repeat(tier)}${name}${status === 'active' ? '' : ' archived'}`,
  )
}

it('gives the agents of the folder workspaces, lets others join, and keeps it all over a restart', async () => {
  const none = { capabilities: {} }
  const agents = {
    default: none,
    writer: { ...none, workspace: { parent: 'default', role: 'Writes.' } },
    lost: { ...none, workspace: { parent: 'nobody' } },
  }
  const at = await openFixture({ mcpServers: {}, agents })
  expect(await treeOf(at)).toEqual(['root', '  default', '    writer'])
  const findings = await at.control<Finding[]>('doctor')
  expect(findings.filter(({ level }) => level === 'error')).toMatchObject([
    {
      what: expect.stringContaining('No agent of this folder is named "nobody"'),
      where: expect.stringContaining('lost'),
    },
  ])

  const { code } = (await at.run('join-codes', 'create', '--parent', 'default', '--json')).json<
    JoinCodeFacts & { code: string }
  >()
  const joined = await ask<{ token: string; workspace: WorkspaceFacts }>(at, 'POST', '/join', 'none', {
    code,
    name: 'scout',
  })
  expect(joined).toMatchObject({ status: 201, body: { workspace: { name: 'scout', parent: { name: 'default' } } } })
  const { token, workspace } = joined.body
  expect((await ask(at, 'POST', '/join', 'none', { code, name: 'late' })).status).toBe(401)
  const asDefault = await at.tokenFor('default')
  const beat = await ask(at, 'POST', '/register', asDefault, { capacity: 3 })
  expect(beat).toMatchObject({ status: 200, body: { presence: 'online', workspace: { name: 'default' } } })
  const { body: around } = await ask<PeerPage>(at, 'GET', '/peers', token)
  expect(around.peers.map(({ name, relation, presence }) => [name, relation, presence])).toEqual([
    ['default', 'parent', 'online'],
    ['writer', 'sibling', 'offline'],
  ])

  // A joined agent keeps its workspace, whichever file gets its name later.
  await writeFiles(at.dir, { 'agents/scout.json': JSON.stringify({ capabilities: { files: { dirs: ['.'] } } }) })
  await rm(join(at.dir, 'agents', 'writer.json'))
  await at.control('reload')
  await expect.poll(() => treeOf(at)).toEqual(['root', '  default', '    scout', '    writer archived'])
  expect(await at.control('createToken', { agent: 'scout' })).toMatchObject({ code: 'NAME_TAKEN' })

  expect(await at.up.stop()).toBe(0)
  const shown = (await at.run('workspaces', 'show', 'default', '--json')).json<WorkspaceFacts>()
  expect(shown).toMatchObject({ capacity: 3, presence: 'online', lastSeenAt: expect.any(Number) })
  expect((await at.run('workspaces', 'show', workspace.id, '--json')).json()).toMatchObject({ origin: 'joined' })
})
