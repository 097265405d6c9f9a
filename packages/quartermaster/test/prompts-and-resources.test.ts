import { readFile } from 'node:fs/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeProject, quartermaster, startUp } from './support/product.ts'

// The page on prompts and resources shows this file.
const HANDBOOK = new URL('../../../examples/snippets/capabilities/handbook.ts', import.meta.url)

async function handbookProject(): Promise<string> {
  return makeProject({
    'capabilities/handbook.ts': await readFile(HANDBOOK, 'utf8'),
    'agents/reader.json': '{ "capabilities": { "handbook": {} } }',
    'agents/nobody.json': '{ "capabilities": {} }',
  })
}

async function connect(dir: string, url: string, agent: string): Promise<Client> {
  const { token } = (await quartermaster(['tokens', 'create', agent, '--json'], { cwd: dir })).json<{ token: string }>()
  const client = new Client({ name: 'test', version: '1' })
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
  onTestFinished(() => client.close())
  return client
}

describe('a project’s prompts and resources', () => {
  it('reach the clients of an agent that has the capability, and no others', async () => {
    const dir = await handbookProject()
    const { url } = await startUp(dir)
    const reader = await connect(dir, url, 'reader')
    expect((await reader.listPrompts()).prompts).toMatchObject([
      { name: 'explain', arguments: [{ name: 'page', required: true }, { name: 'reader' }] },
    ])
    const { messages } = await reader.getPrompt({ name: 'explain', arguments: { page: 'release' } })
    expect(messages.map(message => message.content)).toMatchObject([
      { type: 'resource', resource: { uri: 'handbook://release' } },
      { type: 'text', text: 'Explain this page to a newcomer.' },
    ])
    const { contents } = await reader.readResource({ uri: 'handbook://welcome' })
    expect(contents).toEqual([
      { uri: 'handbook://welcome', mimeType: 'text/markdown', text: '# Welcome\n\nEverybody starts here.\n' },
    ])
    const ref = { type: 'ref/resource' as const, uri: 'handbook://{page}' }
    const { completion } = await reader.complete({ ref, argument: { name: 'page', value: 'r' } })
    expect(completion).toEqual({ values: ['release'], total: 1, hasMore: false })
    await expect(reader.readResource({ uri: 'handbook://none' })).rejects.toThrow('The handbook has no page "none".')
    const ungranted = await connect(dir, url, 'nobody')
    expect((await ungranted.listPrompts()).prompts).toEqual([])
    await expect(ungranted.getPrompt({ name: 'explain', arguments: { page: 'release' } })).rejects.toThrow('no prompt')
    await expect(ungranted.readResource({ uri: 'handbook://welcome' })).rejects.toThrow()
  })

  it('are explained by doctor when they are wrong', async () => {
    const dir = await makeProject({
      'agents/default.json': '{ "capabilities": {} }',
      'capabilities/mine.js': `
        import { defineCapability, definePrompt, defineResource } from 'quartermaster'
        const prompts = [definePrompt({ name: 'p', short: 'x', arguments: [{ name: 'a b' }], render: () => '' })]
        const resources = [defineResource({ name: 'r', uri: 'quartermaster://mine', read: () => '' })]
        export default defineCapability({ key: 'mine', short: 'Mine.', tools: [], prompts, resources })`,
    })
    const { code, json } = await quartermaster(['doctor', '--json'], { cwd: dir })
    expect(code).toBe(1)
    expect(
      json<{ level: string; where?: string; what: string }[]>().filter(({ level }) => level !== 'ok'),
    ).toMatchObject([
      { where: 'capabilities/mine.js', what: expect.stringContaining('prompt "p": arguments.0.name') },
      { where: 'capabilities/mine.js', what: expect.stringContaining('which is ours') },
    ])
  })
})
