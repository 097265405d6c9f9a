import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeProject, quartermaster, startUp } from './support/product.ts'

const FILES = {
  'notes.txt': 'hello',
  'agents/reader.json': '{ "capabilities": { "files": { "dirs": ["."], "tools": ["read_file"] } } }',
  'agents/nobody.json': '{ "capabilities": {} }',
}

const tokenFor = async (dir: string, agent: string) =>
  (await quartermaster(['tokens', 'create', agent, '--json'], { cwd: dir })).json<{ token: string; id: string }>()

async function connect(url: string, token: string, mode: 'auto' | 'legacy'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
  onTestFinished(() => client.close())
  return client
}

describe('up speaks MCP', () => {
  it.each(['auto', 'legacy'] as const)('with a real client of the era %s, until its token is revoked', async mode => {
    const dir = await makeProject(FILES)
    const up = await startUp(dir)
    const { token, id } = await tokenFor(dir, 'reader')
    const client = await connect(up.url, token, mode)
    expect((await client.listTools()).tools.map(tool => tool.name)).toEqual(['read_file'])
    const result = await client.callTool({ name: 'read_file', arguments: { path: 'notes.txt' } })
    expect(JSON.stringify(result.content)).toContain('hello')
    await quartermaster(['tokens', 'revoke', id], { cwd: dir })
    await expect(client.callTool({ name: 'read_file', arguments: { path: 'notes.txt' } })).rejects.toThrow()
  })

  it('keeps tokens over a restart, and makes them without a server too', async () => {
    const dir = await makeProject(FILES)
    const { token } = await tokenFor(dir, 'reader')
    const first = await startUp(dir)
    expect((await (await connect(first.url, token, 'auto')).listTools()).tools).toHaveLength(1)
    await first.stop()
    const second = await startUp(dir)
    expect((await (await connect(second.url, token, 'auto')).listTools()).tools).toHaveLength(1)
  })

  it('refuses requests without a token', async () => {
    const dir = await makeProject(FILES)
    const up = await startUp(dir)
    const response = await fetch(`${up.url}/mcp`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    })
    expect(response.status).toBe(401)
    const unknown = await quartermaster(['tokens', 'create', 'raeder', '--json'], { cwd: dir })
    expect(unknown.json()).toMatchObject({ error: { code: 'AGENT_NOT_FOUND' } })
  })
})
