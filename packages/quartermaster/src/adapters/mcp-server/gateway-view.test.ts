import { describe, expect, it } from 'vitest'
import gateway from '../../capabilities/gateway/index.ts'
import { defineTool } from '../../core/catalogue/index.ts'
import { builtinUnit } from '../../testing/builtin-unit.ts'
import { createHub, DOWN, fakeService, simpleCapability, simpleTool, UP } from '../../testing/hub.ts'
import { connect, ERAS, frontOf } from './testing/front.ts'

const FIVE = ['find_tools', 'describe_tool', 'call_tool', 'read_docs', 'get_status']

const add = defineTool({
  name: 'add_numbers',
  short: 'Adds two numbers.',
  input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  output: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
  mutates: false,
  handler: ({ a, b }) => ({ sum: a + b }),
})
const order = defineTool({
  name: 'order_cake',
  short: 'Orders a cake.',
  input: { type: 'object' },
  async handler(_input, { ask, progress }) {
    progress({ progress: 1, total: 1 })
    return `${(await ask({ message: 'Which cake?' })).action}ed`
  },
})

async function open() {
  const mail = fakeService('mail', UP)
  const tools = [add, order, simpleTool('send_mail', { short: 'Sends a mail.', requires: ['mail'] })]
  const hub = await createHub({
    units: {
      gateway: builtinUnit(gateway),
      'main.ts': { capabilities: [simpleCapability('main', tools)], dependencies: [mail.dependency] },
      'other.ts': {
        capabilities: [simpleCapability('other', [simpleTool('water_plants', { short: 'Waters plants.' })])],
      },
    },
    agents: {
      worker: { capabilities: { main: {} }, view: 'gateway' },
      stranger: { capabilities: { other: {} }, view: 'gateway' },
      plain: { capabilities: { main: {} } },
    },
    settings: { recoveringSeconds: 0 },
  })
  await hub.health.probeNew()
  return { hub, mail, front: frontOf(hub) }
}

describe.each(ERAS)('through the gateway view, a client of the era %s', era => {
  it('lists five tools, finds the one it needs, learns to call it and calls it', async () => {
    const { hub, front } = await open()
    const client = await connect(front, 'worker', era)
    const { tools } = await client.listTools()
    expect(tools.map(tool => tool.name)).toEqual(FIVE)
    expect(tools.map(tool => tool.annotations?.readOnlyHint)).toEqual([true, true, false, true, true])
    const found = await client.callTool({ name: 'find_tools', arguments: { query: 'what is the sum of two numbers' } })
    expect(found.structuredContent).toMatchObject({ tools: [{ name: 'add_numbers', state: 'active' }] })
    const described = await client.callTool({ name: 'describe_tool', arguments: { name: 'add_numbers' } })
    expect(described.structuredContent).toMatchObject({ tools: [{ inputSchema: { required: ['a', 'b'] } }] })
    const numbers = { name: 'add_numbers', arguments: { a: 20, b: 22 } }
    const called = await client.callTool({ name: 'call_tool', arguments: numbers })
    const direct = await client.callTool(numbers)
    expect(called.structuredContent).toEqual({ sum: 42 })
    expect(called.content).toEqual(direct.content)
    expect(hub.audit.map(({ tool }) => tool)).toEqual(['find_tools', 'describe_tool', 'add_numbers', 'add_numbers'])
  })

  it('tells the model, and not the client, of a name that is not its own', async () => {
    const { front } = await open()
    const client = await connect(front, 'stranger', era)
    for (const name of ['call_tool', 'describe_tool', 'get_status']) {
      expect(await client.callTool({ name, arguments: { name: 'add_numbers' } })).toMatchObject({
        isError: true,
        _meta: { 'quartermaster/error': { code: 'TOOL_NOT_FOUND' } },
      })
    }
    expect(await client.callTool({ name: 'read_docs', arguments: { path: 'add_numbers' } })).toMatchObject({
      isError: true,
      _meta: { 'quartermaster/error': { code: 'NAME_UNKNOWN' } },
    })
    const found = await client.callTool({ name: 'find_tools', arguments: { query: 'add_numbers send mail' } })
    expect(found.structuredContent).toMatchObject({ tools: [], total: 1 })
    await expect(client.callTool({ name: 'add_numbers', arguments: {} })).rejects.toThrow('has no tool')
  })

  it('is told what is wrong with the arguments of the tool behind', async () => {
    const { front } = await open()
    const client = await connect(front, 'worker', era)
    const input = { name: 'add_numbers', arguments: { a: 'many' } }
    const result = await client.callTool({ name: 'call_tool', arguments: input })
    expect(result).toMatchObject({ isError: true, structuredContent: { error: { code: 'INPUT_INVALID' } } })
    expect(JSON.stringify(result.content)).toContain('add_numbers')
  })

  it('is asked by the tool behind, and hears of its progress', async () => {
    const { front } = await open()
    const client = await connect(front, 'worker', era, { capabilities: { elicitation: { form: {} } } })
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }))
    const heard: unknown[] = []
    const onprogress = (progress: unknown) => heard.push(progress)
    const result = await client.callTool({ name: 'call_tool', arguments: { name: 'order_cake' } }, { onprogress })
    expect(result.content).toEqual([{ type: 'text', text: 'accepted' }])
    expect(heard).toContainEqual({ progress: 1, total: 1 })
  })

  it('reads the page of a tool that is not listed, and of none that is not its own', async () => {
    const { front } = await open()
    const uri = 'quartermaster://tools/add_numbers'
    const { contents } = await (await connect(front, 'worker', era)).readResource({ uri })
    expect(contents).toMatchObject([{ text: expect.stringContaining('# Add numbers') }])
    await expect((await connect(front, 'stranger', era)).readResource({ uri })).rejects.toThrow()
  })

  it('is not bothered when tools come and go behind it, and is told when it sees them otherwise', async () => {
    const { hub, mail, front } = await open()
    const news = { worker: 0, plain: 0 }
    for (const agent of ['worker', 'plain'] as const) {
      const onChanged = () => void news[agent]++
      await connect(front, agent, era, { listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } } })
    }
    const client = await connect(front, 'worker', era)
    await expect.poll(() => front.counts().streams).toBeGreaterThanOrEqual(2)
    mail.verdict = DOWN
    hub.health.reportFailure('mail', 'gone')
    await hub.clock.advance(10)
    await expect.poll(() => news.plain).toBe(1)
    const status = await client.callTool({ name: 'get_status', arguments: {} })
    expect(status.structuredContent).toMatchObject({ disabled: 1, tools: [{ name: 'send_mail', state: 'disabled' }] })
    await hub.setAgents({
      worker: { capabilities: { main: {} }, view: 'direct' },
      plain: { capabilities: { main: {} } },
    })
    await hub.clock.advance(1_100)
    await expect.poll(() => news.worker).toBe(1)
    expect((await client.listTools()).tools.map(tool => tool.name)).toEqual(['add_numbers', 'order_cake'])
  })
})
