import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { tempProject } from '../src/testing/temp-project.ts'
import { quartermaster, startUp } from './support/product.ts'

async function clientOf(mcpUrl: string, token: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit }))
  onTestFinished(() => client.close())
  return client
}

describe('up in a folder without agents', () => {
  it('makes one that may read the folder, and gives its token once', async () => {
    const { dir } = await tempProject({ 'notes.txt': 'hello' })
    const first = await startUp(dir)
    const { mcpUrl, token } = first.facts as { mcpUrl: string; token: string }
    const client = await clientOf(mcpUrl, token)
    expect((await client.listTools()).tools.map(tool => tool.name)).toEqual(['read_file', 'list_files', 'search_files'])
    const read = await client.callTool({ name: 'read_file', arguments: { path: 'notes.txt' } })
    expect(JSON.stringify(read.content)).toContain('hello')
    await first.stop()
    const second = await startUp(dir)
    expect(second.facts).toEqual({ url: second.url, mcpUrl: `${second.url}/mcp`, version: expect.any(String) })
    expect((await (await clientOf(`${second.url}/mcp`, token)).listTools()).tools).toHaveLength(3)
    const tokens = (await quartermaster(['tokens', '--json'], { cwd: dir })).json<{ agent: string }[]>()
    expect(tokens.map(({ agent }) => agent)).toEqual(['default'])
  })

  it('makes nothing when it cannot listen, so that the next start gives the token', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void taken.close())
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const { dir } = await tempProject({ 'notes.txt': 'hello' })
    const failed = await quartermaster(['up', '--port', String(port)], { cwd: dir })
    expect(failed.code).not.toBe(0)
    expect((await startUp(dir)).facts).toHaveProperty('token')
  })

  it('makes nothing where there is an agent, whatever its name', async () => {
    const { dir } = await tempProject({ 'agents/worker.json': '{ "capabilities": {} }' })
    const { facts } = await startUp(dir)
    expect(facts).not.toHaveProperty('token')
    expect(await readdir(join(dir, 'agents'))).toEqual(['worker.json'])
  })

  it('leaves an agent alone whose file does not read', async () => {
    const { dir } = await tempProject({ 'agents/default.json': '{' })
    const { facts } = await startUp(dir)
    expect(facts).not.toHaveProperty('token')
    expect(await readFile(join(dir, 'agents', 'default.json'), 'utf8')).toBe('{')
  })
})

describe('connect --print', () => {
  it.each([
    { client: 'claude', begins: 'claude mcp add quartermaster-guide -- ' },
    { client: 'codex', begins: 'codex mcp add quartermaster-guide -- ' },
  ])('gives $client a line for a shell', async ({ client, begins }) => {
    const { dir } = await tempProject({ 'quartermaster.config.json': '{}' })
    const { stdout } = await quartermaster(['connect', '--print', client, '--agent', 'guide'], { cwd: dir })
    expect(stdout.startsWith(begins)).toBe(true)
    expect(stdout.endsWith(`connect --agent guide --config ${join(dir, 'quartermaster.config.json')}\n`)).toBe(true)
  })

  it.each([
    { client: 'cursor', key: 'mcpServers' },
    { client: 'vscode', key: 'servers' },
  ])('gives $client an entry with whole paths', async ({ client, key }) => {
    const { dir } = await tempProject()
    const answer = await quartermaster(['connect', '--print', client, '--data', 'd'], { cwd: dir })
    expect(answer.json()).toEqual({
      [key]: {
        quartermaster: {
          type: 'stdio',
          command: process.execPath,
          args: [
            expect.stringMatching(/quartermaster\.js$/),
            'connect',
            '--agent',
            'default',
            '--data',
            join(dir, 'd'),
          ],
        },
      },
    })
  })

  it('counts on no command that only npm or npx has on its search path', async () => {
    const { dir, path, write } = await tempProject({ 'quartermaster.config.json': '{}' })
    await write('node_modules/.bin/quartermaster', '', 0o755)
    const print = async (folder: string) => {
      const env = { PATH: [folder, dirname(process.execPath)].join(delimiter) }
      return (await quartermaster(['connect', '--print', 'claude'], { cwd: dir, env })).stdout
    }
    expect(await print(path('node_modules/.bin'))).toContain(` -- ${process.execPath} `)
    await write('bin/quartermaster', '', 0o755)
    expect(await print(path('bin'))).toContain(' -- quartermaster connect ')
  })

  it('knows its clients', async () => {
    const { dir } = await tempProject()
    const { code, stderr } = await quartermaster(['connect', '--print', 'emacs'], { cwd: dir })
    expect([code, stderr]).toEqual([2, expect.stringContaining('claude, codex, cursor, vscode')])
  })
})
