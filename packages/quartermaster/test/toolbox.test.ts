import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createQuartermaster, type OpenToolbox, openToolbox, type ToolboxOptions } from '../src/index.ts'
import { answerFunctionCalls } from '../src/openai.ts'
import { renderPrompt } from '../src/prompt.ts'
import { makeProject, quartermaster, startUp } from './support/product.ts'

const CAPABILITY = `
  import { defineCapability, defineDependency, defineTool, toolFailure, toolResult } from 'quartermaster'
  import { path } from 'quartermaster/probes'
  const feed = defineDependency({ name: 'feed', probe: path({ path: new URL('../feed.txt', import.meta.url).pathname }) })
  const input = { type: 'object', properties: {} }
  const tool = (name, more) => defineTool({ name, short: name + '.', input, mutates: false, ...more })
  const numbers = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] }
  const sum = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] }
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
  let pays = 0
  export default defineCapability({
    key: 'desk', short: 'A desk.', dependencies: [feed],
    tools: [
      tool('add', { input: numbers, output: sum, handler: ({ a, b }) => ({ sum: a + b }) }),
      tool('picture', { handler: () => toolResult({ content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] }) }),
      tool('no', { handler: () => toolFailure('I would rather not.') }),
      tool('boom', { handler: () => { throw new Error('It broke.') } }),
      tool('now', { requires: ['feed'], handler: () => 'tick' }),
      tool('steps', { handler: (_, { progress }) => { progress({ progress: 1, total: 2, message: 'half' }); return 'done' } }),
      tool('ask', { handler: async (_, { ask }) => JSON.stringify(await ask({ message: 'Sure?', schema })) }),
      tool('wait', { handler: (_, { signal, progress }) => new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason)); progress({ progress: 1 })
      }) }),
      tool('long', { maxResultBytes: 1_024, handler: () => 'a'.repeat(1_000) + 'b'.repeat(1_000) }),
      tool('pay', { mutates: true, handler: () => 'paid ' + ++pays }),
    ],
  })
`

const FILES = {
  'capabilities/desk.ts': CAPABILITY,
  'agents/worker.json': '{ "capabilities": { "desk": {} } }',
  'agents/other.json': '{ "capabilities": { "desk": {} } }',
  'feed.txt': '',
  'quartermaster.config.json': '{ "settings": { "recoveringSeconds": 0, "watchIntervalSeconds": 1 } }',
}

interface Opened {
  readonly toolbox: OpenToolbox
  readonly dir: string
  /** Asks the API, with the agent's token, where there is one. */
  get?(path: string, accept: string): Promise<Response>
}

async function inProcess(options?: ToolboxOptions): Promise<Opened> {
  const dir = await makeProject(FILES)
  const host = await createQuartermaster({ dir, env: {}, watch: true })
  onTestFinished(() => host.stop())
  return { dir, toolbox: host.toolbox('worker', options) }
}

async function behindUp(options?: ToolboxOptions): Promise<Opened> {
  const dir = await makeProject(FILES)
  const { facts } = await startUp(dir)
  const made = await quartermaster(['tokens', 'create', 'worker', '--json'], { cwd: dir })
  const { token } = made.json<{ token: string }>()
  const toolbox = await openToolbox({ url: String(facts.mcpUrl), token: `${token}\n`, ...options })
  onTestFinished(() => toolbox.close())
  const get = (path: string, accept: string) =>
    fetch(`${facts.url}/api/v1${path}`, { headers: { accept, authorization: `Bearer ${token}` } })
  return { dir, toolbox, get }
}

/** What is refused before it comes to the tool was not done, and says so. */
async function expectRefusedByWire(toolbox: OpenToolbox): Promise<void> {
  const owned = JSON.parse('{ "a": 1, "b": 2, "__proto__": { "c": 1 } }')
  expect(await toolbox.call('add', owned)).toMatchObject(failure('INPUT_INVALID'))
  expect(await toolbox.call('add', { a: 'a'.repeat(12_000_000) })).toMatchObject(failure('LIMIT_EXCEEDED'))
}

/** The API tells an agent the same, and nothing of others. */
async function expectSamePrompt(get: NonNullable<Opened['get']>, text: string): Promise<void> {
  const plain = await get('/agents/worker/prompt', 'text/markdown')
  expect([plain.headers.get('content-type'), await plain.text()]).toEqual(['text/markdown; charset=utf-8', text])
  expect(await (await get('/agents/worker/prompt', '*/*')).json()).toMatchObject({ agent: 'worker', text })
  const either = await Promise.all(
    ['text/markdown;q=0.5, */*', 'text/markdown, application/json', '*/*;q=0.1, text/markdown'].map(async accept =>
      (await get('/agents/worker/prompt', accept)).headers.get('content-type'),
    ),
  )
  expect(either).toEqual(['application/json', 'application/json', 'text/markdown; charset=utf-8'])
  const shell = await get('/agents/worker/prompt?shell=true', 'text/markdown')
  expect(await shell.text()).toContain('`quartermaster do add ')
  const others = await get('/agents/other/prompt', 'text/markdown')
  expect([others.status, await others.json()]).toEqual([
    404,
    expect.objectContaining({
      code: 'NAME_UNKNOWN',
      detail: expect.stringContaining('its own prompt and no other: that of "worker"'),
    }),
  ])
}

describe.each([
  ['in this process', inProcess],
  ['behind a running up', behindUp],
] as const)('the toolbox of an agent %s', (_where, open) => {
  it('has its tools in order, and calls them with the same results and errors', async () => {
    const { toolbox, get } = await open()
    const tools = await toolbox.tools()
    expect(tools.map(({ name }) => name)).toEqual([
      'add',
      'picture',
      'no',
      'boom',
      'now',
      'steps',
      'ask',
      'wait',
      'long',
      'pay',
    ])
    expect(await toolbox.tools()).toBe(tools)
    expect(tools[0]).toMatchObject({ title: 'Add', description: 'add.', mutates: false, idempotent: true })
    expect(tools[0]?.inputSchema).toMatchObject({ required: ['a', 'b'] })
    expect(tools[0]?.outputSchema).toMatchObject({ required: ['sum'] })
    expect((await toolbox.call('add', { a: 1, b: 2 })).structuredContent).toEqual({ sum: 3 })
    expect((await toolbox.call('picture', {})).content).toEqual([
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    ])
    expect(await toolbox.call('no', {})).toMatchObject({ isError: true, content: [{ text: 'I would rather not.' }] })
    expect((await toolbox.call('add', { a: 1, b: 2, c: undefined })).structuredContent).toEqual({ sum: 3 })
    expect(await toolbox.call('add', { a: 1 })).toMatchObject(failure('INPUT_INVALID'))
    expect(await toolbox.call('boom', {})).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('It broke.') }],
    })
    expect(await toolbox.call('ask', {})).toMatchObject(failure('ANSWER_UNAVAILABLE'))
    for (const name of ['subtract', 5 as never])
      await expect(toolbox.call(name, 'five')).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    for (const input of [
      { a: 5n, b: 2 },
      { a: 1, b: cycle },
    ])
      expect(await toolbox.call('add', input)).toMatchObject(failure('INPUT_INVALID'))
    const { content, _meta = {} } = await toolbox.call('long', {})
    const { resultId, nextOffset } = _meta['quartermaster/kept'] as { resultId: string; nextOffset: number }
    const page = await toolbox.page(resultId, nextOffset)
    expect([JSON.stringify(content), page]).toEqual([
      expect.stringContaining('aaa'),
      { text: expect.stringMatching(/b{900}/) },
    ])
    await expect(toolbox.page('op_none', 0)).rejects.toMatchObject({
      code: 'RESULT_NOT_FOUND',
      message: expect.stringContaining('No result "op_none" is kept.'),
    })
    for (const [id, offset] of [
      ['op none', 0],
      [5, 0],
      [resultId, -1],
      [resultId, 0.5],
      [resultId, '0'],
    ])
      await expect(toolbox.page(id as never, offset as never)).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    let deep: unknown = 1
    for (let level = 0; level < 2_000; level++) deep = { deep }
    expect(await toolbox.call('add', { a: deep, b: 1 })).toMatchObject({ isError: true })
    for (const input of ['a', 5, [1]]) expect(await toolbox.call('no', input)).toMatchObject(failure('INPUT_INVALID'))
    // A model may call what is not there, and write what is no JSON. What it called beside that is answered.
    const called = (name: string, given: string) => ({ type: 'function_call', call_id: name, name, arguments: given })
    const calls = [called('subtract', '{}'), called('add', '{"a":'), called('steps', '{}')]
    expect(await answerFunctionCalls(toolbox, calls)).toMatchObject([
      { call_id: 'subtract', output: expect.stringMatching(/^Error: TOOL_NOT_FOUND/) },
      { call_id: 'add', output: expect.stringMatching(/^Error: INPUT_INVALID/) },
      { call_id: 'steps', output: 'done' },
    ])
    const { text, tools: told } = await renderPrompt(toolbox)
    expect(told).toEqual(tools.map(({ name }) => name))
    expect(text).toContain('## Desk\n\n- `add`: add.\n')
    if (get) {
      await expectSamePrompt(get, text)
      await expectRefusedByWire(toolbox)
    }
    await toolbox.close()
    await expect(toolbox.view()).rejects.toMatchObject({ code: 'STOPPING' })
    await expect(toolbox.call('steps', {})).rejects.toMatchObject({ code: 'STOPPING' })
    await expect(toolbox.page(resultId, 0)).rejects.toMatchObject({ code: 'STOPPING' })
    expect(() => toolbox.onChange(() => {})).toThrow('This toolbox is closed.')
  })

  it('tells progress, does what has a key once, and ends what is cancelled', async () => {
    const { toolbox } = await open()
    const told: unknown[] = []
    await toolbox.call('steps', {}, { onProgress: progress => told.push(progress) })
    expect(told).toEqual([{ progress: 1, total: 2, message: 'half' }])
    const once = { idempotencyKey: 'first' }
    const paid = [await toolbox.call('pay', {}, once), await toolbox.call('pay', {}, once)]
    expect(paid.map(({ content }) => content)).toEqual([1, 2].map(() => [{ type: 'text', text: 'paid 1' }]))
    const abort = new AbortController()
    const waits = toolbox.call('wait', {}, { signal: abort.signal, onProgress: () => abort.abort() })
    await expect(waits).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('asks the client that opened it, and announces changed tools', async () => {
    const { dir, toolbox } = await open({
      ask: async ({ message }) => ({ action: 'accept', content: { ok: message === 'Sure?' } }),
    })
    expect(JSON.stringify((await toolbox.call('ask', {})).content)).toContain('true')
    // Another listener may be broken.
    toolbox.onChange(() => {
      throw new Error('mine')
    })
    const changed = () =>
      new Promise<void>(resolve => {
        const off = toolbox.onChange(() => {
          off()
          resolve()
        })
      })
    const hasNow = async () => (await toolbox.tools()).some(({ name }) => name === 'now')
    expect(await hasNow()).toBe(true)
    const gone = changed()
    await rm(join(dir, 'feed.txt'))
    await gone
    expect(await hasNow()).toBe(false)
    const { tools: viewed } = await toolbox.view()
    expect(viewed.find(({ name }) => name === 'now')).toMatchObject({ state: 'disabled', reason: expect.any(String) })
    const back = changed()
    await writeFile(join(dir, 'feed.txt'), '')
    await back
    expect(await hasNow()).toBe(true)
  })
})

/** What could not be run, as its model and a program read it. */
function failure(code: string) {
  return { isError: true, content: [{ type: 'text' }], _meta: { 'quartermaster/error': { code } } }
}

it('says who does not answer, and whose token it is not', async () => {
  const up = await startUp(await makeProject(FILES))
  const url = String(up.facts.mcpUrl)
  for (const token of ['none', '', 'a\nb', 'é漢'])
    await expect(openToolbox({ url, token })).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  for (const elsewhere of [String(up.facts.url), `${up.facts.url}/moon`])
    await expect(openToolbox({ url: elsewhere, token: 'none' })).rejects.toMatchObject({
      code: 'REQUEST_REFUSED',
      message: expect.stringContaining('Use the mcpUrl'),
    })
  await up.stop()
  await expect(openToolbox({ url, token: 'none' })).rejects.toMatchObject({
    code: 'DEPENDENCY_UNAVAILABLE',
    message: expect.stringContaining('quartermaster up'),
  })
  for (const nonsense of ['nonsense', 'file:///mcp', 'http://me:secret@127.0.0.1/mcp'])
    await expect(openToolbox({ url: nonsense, token: 'none' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})
