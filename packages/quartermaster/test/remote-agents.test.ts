import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, it, onTestFinished } from 'vitest'
import type { JoinCodeFacts, WorkspaceFacts } from '../src/contracts/index.ts'
import { writeFiles } from './support/product.ts'
import { openFixture, type UpstreamFixture } from './support/upstream-fixture.ts'

interface Joined {
  readonly token: string
  readonly workspace: WorkspaceFacts
}

async function join(at: UpstreamFixture, name: string): Promise<Joined> {
  const { code } = await at.control<JoinCodeFacts & { code: string }>('createJoinCode', { name })
  const answer = await fetch(`${at.up.url}/api/v1/join`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ code }),
  })
  return (await answer.json()) as Joined
}

async function clientOf(at: UpstreamFixture, token: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${at.up.url}/mcp`), { requestInit }))
  onTestFinished(() => client.close().catch(() => {}))
  return client
}

const toolsOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name)

const promptsOf = async (client: Client) => (await client.listPrompts()).prompts.map(({ name }) => name)

const DOOR = `---
kind: directions
title: Open the door
summary: Says where the key is.
whenToUse: Somebody is at the door.
command: open-door
---
The key is under the mat.
`

it('gives a joined agent the tools of the platform, and nothing of the project or of an agent that gets its name', async () => {
  const at = await openFixture({ mcpServers: {}, agents: { default: { capabilities: { delegation: {} } } } })
  const { token, workspace } = await join(at, 'scout')
  const scout = await clientOf(at, token)
  const tools = await toolsOf(scout)
  expect(tools).toEqual(expect.arrayContaining(['list_peers', 'get_workspace_info', 'inbox_peek', 'recall_memory']))
  const info = await scout.callTool({ name: 'get_workspace_info', arguments: {} })
  expect(info.structuredContent).toMatchObject({ id: workspace.id, name: 'scout', tier: 1, parent: { name: 'root' } })
  const peers = await scout.callTool({ name: 'list_peers', arguments: { limit: 1_000 } })
  expect(peers.structuredContent).toMatchObject({
    peers: expect.arrayContaining([
      expect.objectContaining({ name: 'default', relation: 'sibling', remark: expect.stringContaining('no "inbox"') }),
    ]),
    note: expect.stringContaining('lowered from 1000 to 200'),
  })

  await writeFiles(at.dir, {
    'agents/scout.json': JSON.stringify({ capabilities: { files: { dirs: ['.'] } } }),
    'knowledge/door.md': DOOR,
  })
  await at.control('reload')
  expect(await promptsOf(await at.connect())).toContain('open-door')
  expect(await promptsOf(scout)).not.toContain('open-door')
  await expect(scout.readResource({ uri: 'skill://open-door/SKILL.md' })).rejects.toThrow()
  expect(await toolsOf(await clientOf(at, token))).toEqual(tools)
  // Nor is it given that agent's folder, to take files from.
  expect(await at.control('lendToken', { agent: 'default' })).toHaveProperty('files')
  expect(await at.control('lendToken', { agent: 'scout' })).not.toHaveProperty('files')

  await at.control('archiveWorkspace', { id: workspace.id })
  await expect(clientOf(at, token)).rejects.toThrow(/401|token/i)
})
