import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createQuartermaster, defineCapability, defineTool } from '../src/index.ts'
import { makeProject } from './support/product.ts'

/** The built library, as programs import it. */
const LIBRARY = new URL('../dist/index.js', import.meta.url).href

const add = defineTool({
  name: 'add',
  short: 'Adds two numbers.',
  input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  mutates: false,
  handler: ({ a, b }) => String(a + b),
})
const maths = defineCapability({ key: 'maths', short: 'Maths.', tools: [add] })

async function open(files: Record<string, string> = {}) {
  const dir = await makeProject({ 'agents/worker.json': '{ "capabilities": { "maths": {} } }', ...files })
  const quartermaster = await createQuartermaster({ dir, env: {}, capabilities: [maths] })
  onTestFinished(() => quartermaster.stop())
  return quartermaster
}

it('reads tools in order of definition, one by name, and what is disabled', async () => {
  const quartermaster = await open()
  const tools = quartermaster.tools()
  const known = quartermaster.knownCapabilities().flatMap(({ key, tools: own }) => own.map(({ name }) => [key, name]))
  // What comes with views belongs to no capability.
  const given = new Set(known.map(([, name]) => name))
  expect(tools.filter(({ name }) => given.has(name)).map(({ capability, name }) => [capability, name])).toEqual(known)
  expect(tools.filter(({ name }) => !given.has(name)).map(({ section }) => section)).not.toContain('maths')
  expect(tools.at(-1)?.name).toBe('add')
  expect(quartermaster.tools({ section: 'maths', state: 'active' }).map(tool => tool.name)).toEqual(['add'])
  expect(quartermaster.disabled()).toEqual([])
  expect(quartermaster.tool('add').short).toBe('Adds two numbers.')
  expect(() => quartermaster.tool('subtract')).toThrow(expect.objectContaining({ code: 'TOOL_NOT_FOUND' }))
  expect(() => quartermaster.dependency('moon')).toThrow(expect.objectContaining({ code: 'DEPENDENCY_UNKNOWN' }))
})

it('calls as an agent', async () => {
  const quartermaster = await open()
  const answer = await quartermaster.call({ agent: 'worker', tool: 'add', input: { a: 1, b: 2 } })
  expect(answer.result.content).toEqual([{ type: 'text', text: '3' }])
})

it('gives an agent engine the servers of a run', async () => {
  const quartermaster = await open()
  const context = quartermaster.contextFor('worker', { thread: { id: 't1' } })
  const { mcpServers, report } = quartermaster.resolve(context.agent.capabilities, context)
  expect(report).toEqual([{ capability: 'maths', tool: 'add', state: 'granted' }])
  const server = mcpServers.maths
  if (server?.type !== 'sdk') throw new Error('expected an in-process server')
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'engine', version: '1' })
  await Promise.all([
    (server.instance as { connect(transport: unknown): Promise<void> }).connect(theirs),
    client.connect(ours),
  ])
  expect((await client.callTool({ name: 'add', arguments: { a: 20, b: 22 } })).content).toEqual([
    { type: 'text', text: '42' },
  ])
  await client.close()
})

it('lists capabilities without anything running', async () => {
  const quartermaster = await open()
  expect(quartermaster.knownCapabilities().map(capability => capability.key)).toEqual([
    'delegation',
    'files',
    'history',
    'inbox',
    'memory',
    'notes',
    'registry',
    'user',
    'maths',
  ])
})

it('takes paths as attachments, because agents are in this process, and none outside of their folder', async () => {
  const ada = JSON.stringify({ capabilities: { user: {} }, workspaceDir: 'work' })
  const quartermaster = await open({ 'agents/ada.json': ada, 'work/a.txt': 'a' })
  const call = (...attachments: string[]) =>
    quartermaster.call({ agent: 'ada', tool: 'send_message_to_user', input: { message: 'Here', attachments } })
  const { result } = await call('a.txt')
  expect(result.structuredContent).toMatchObject({ attachments: [{ name: 'a.txt', mediaType: 'text/plain', size: 1 }] })
  await expect(call('a.txt', '../agents/ada.json')).rejects.toMatchObject({ code: 'INPUT_INVALID' })
})

describe('a program in which nothing else keeps the process alive', () => {
  const PROGRAM = `
    import { createQuartermaster, defineCapability, defineDependency, defineTool } from ${JSON.stringify(LIBRARY)}
    const never = () => new Promise(() => {})
    const tool = { short: 'Hangs.', input: { type: 'object' }, mutates: false, timeoutMs: 50, handler: never }
    const hanging = defineCapability({
      key: 'hanging',
      short: 'Hangs.',
      dependencies: [defineDependency({ name: 'moon', timeoutMs: 50, probe: never })],
      tools: [
        defineTool({ ...tool, name: 'hang' }),
        defineTool({ ...tool, name: 'land', requires: ['moon'] }),
        defineTool({ ...tool, name: 'check', input: { '~standard': {
          version: 1, vendor: 'own', validate: never, jsonSchema: { input: () => ({ type: 'object' }) },
        } } }),
      ],
    })
    const quartermaster = await createQuartermaster({ dir: import.meta.dirname, env: {}, capabilities: [hanging] })
    const told = work => work.then(JSON.stringify, error => error.code)
    const call = tool => quartermaster.call({ agent: 'worker', tool, input: {} })
    const toolbox = quartermaster.toolbox('worker')
    console.log(await told(call('hang')))
    console.log(await told(call('land')))
    console.log(await told(call('check')))
    console.log(await told(quartermaster.control.call({ agent: 'worker', tool: 'hang', input: {} })))
    console.log(await told(quartermaster.recheck('moon', { force: true }).then(answer => answer.active)))
    console.log(await told(toolbox.call('hang', {}).then(result => result.isError)))
  `
  const ANSWERS = ['DEADLINE_EXCEEDED', 'TOOL_DISABLED', 'DEADLINE_EXCEEDED', 'DEADLINE_EXCEEDED', 'false', 'true']

  it.each([
    ['after it has stopped', 'await quartermaster.stop()'],
    ['without being stopped', ''],
  ])('gets an answer for each probe and handler that never settles, and ends %s', async (_, end) => {
    const agents = { 'agents/worker.json': '{ "capabilities": { "hanging": {} } }' }
    const dir = await makeProject({ ...agents, 'program.mjs': `${PROGRAM}\n${end}` })
    const { stdout } = await promisify(execFile)(process.execPath, ['program.mjs'], { cwd: dir })
    expect(stdout.trim().split('\n')).toEqual(ANSWERS)
  })
})
