import { describe, expect, it } from 'vitest'
import gateway from '../../capabilities/gateway/index.ts'
import type { Settings } from '../../contracts/index.ts'
import { type AnyTool, defineTool } from '../../core/catalogue/index.ts'
import { builtinUnit } from '../../testing/builtin-unit.ts'
import { createHub, DOWN, fakeService, simpleCapability, simpleTool, UP } from '../../testing/hub.ts'
import { connect, ERAS, frontOf } from './testing/front.ts'

const measuring = (name: string, more: object = {}) =>
  defineTool({
    name,
    short: 'Measures.',
    requires: ['station'],
    input: { type: 'object' },
    output: { type: 'object', properties: { celsius: { type: 'number' } }, required: ['celsius'] },
    mutates: false,
    handler: () => ({ celsius: 4 }),
    ...more,
  }) as AnyTool

/** A tool that only reads, one that promises a structure and one that may not be repeated; all need a station that is down. */
async function open(settings: Partial<Settings> = {}) {
  const station = fakeService('station', DOWN)
  const requires = ['station']
  const tools = [
    simpleTool('look', { requires, handler: () => 'sunny' }),
    measuring('measure'),
    // As a server elsewhere lists it.
    measuring('read_remote', { mcp: {} }),
    simpleTool('send', { requires, mutates: true, handler: () => 'sent' }),
  ]
  const capabilities = { main: {} }
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', tools)], dependencies: [station.dependency] } },
    builtin: { gateway: builtinUnit(gateway) },
    agents: {
      worker: { capabilities },
      daring: { capabilities, runDisabled: true },
      narrow: { capabilities, view: 'gateway' },
      sender: { capabilities: { main: { tools: ['send'] } } },
    },
    settings,
  })
  hub.work()
  await hub.health.probeNew()
  const back = async () => {
    station.verdict = UP
    await hub.health.recheck('dependency:station', { force: true })
    await hub.clock.advance(2_000)
  }
  return { hub, front: frontOf(hub), back }
}

const meta = (whenDisabled: unknown, idempotencyKey?: string) => ({
  'quartermaster/whenDisabled': whenDisabled,
  ...(idempotencyKey === undefined ? {} : { 'quartermaster/idempotencyKey': idempotencyKey }),
})

describe.each(ERAS)('a disabled tool, called by a client of the era %s', era => {
  it.each([
    ['look', { content: [{ type: 'text', text: 'sunny' }] }],
    ['measure', { structuredContent: { celsius: 4 } }],
    ['send', { content: [{ type: 'text', text: 'sent' }] }],
  ])('is recorded and run later where the call says so: %s', async (name, result) => {
    const { hub, front, back } = await open()
    const client = await connect(front, 'worker', era)
    await client.listTools()
    const call = { name, arguments: {}, _meta: meta('wait', 'k1') }
    const answer = await client.callTool(call)
    const handle = {
      status: 'waiting',
      operationId: answer._meta?.['quartermaster/operationId'],
      for: 'dependency',
      missing: ['station'],
      expiresAt: hub.clock.now() + 24 * 3_600_000,
    }
    expect(answer).toMatchObject({ structuredContent: handle, _meta: { 'quartermaster/waiting': handle } })
    expect(answer.isError).toBeUndefined()
    const { text } = answer.content[0] as { text: string }
    expect(text).toContain(`Waiting for what "${name}" needs. "${name}" is disabled. It needs "station", which is down`)
    expect(text).toContain('Expires in 24 hours; runs automatically once it is available.')
    expect(text).toContain(`get_status {"id":"${handle.operationId}"} shows the result.`)
    // The repeat is the same call.
    expect(await client.callTool(call)).toMatchObject({ structuredContent: handle })
    await back()
    expect(await client.callTool(call)).toMatchObject(result)
    expect(await hub.operations.find('default', String(handle.operationId))).toMatchObject({
      state: 'succeeded',
      attempts: 1,
    })
  })

  it('is one of so many at most', async () => {
    const { front } = await open({ approvalsPerAgent: 2 })
    const client = await connect(front, 'sender', era)
    const wait = () => client.callTool({ name: 'send', arguments: {}, _meta: meta('wait') })
    for (const _ of [1, 2]) expect(await wait()).toMatchObject({ _meta: { 'quartermaster/waiting': {} } })
    const full = expect.stringContaining('"sender" has 2 calls that wait for tools')
    expect(await wait()).toMatchObject({ isError: true, content: [{ text: full }] })
  })

  it('is what a misspelt name leads to', async () => {
    const { front } = await open()
    for (const agent of ['sender', 'narrow']) {
      const client = await connect(front, agent, era)
      const text = expect.stringContaining('Did you mean "send"?')
      await expect(client.callTool({ name: 'sennd', arguments: {} })).rejects.toMatchObject({ message: text })
    }
  })

  it('fails at once where nothing is said, and where the call says so', async () => {
    const { hub, front } = await open()
    const client = await connect(front, 'worker', era)
    for (const _meta of [{}, meta('fail')])
      expect(await client.callTool({ name: 'look', arguments: {}, _meta })).toMatchObject({
        isError: true,
        _meta: { 'quartermaster/error': { code: 'TOOL_DISABLED' } },
      })
    expect((await hub.operations.list({ organisation: 'default' })).operations).toEqual([])
  })

  it('does not wait where its client would refuse a handle', async () => {
    const { hub, front } = await open()
    const client = await connect(front, 'worker', era)
    const call = { name: 'read_remote', arguments: {}, _meta: meta('wait') }
    expect(await client.callTool(call)).toMatchObject({
      isError: true,
      _meta: { 'quartermaster/error': { code: 'INPUT_INVALID' } },
    })
    expect((await hub.operations.list({ organisation: 'default' })).operations).toEqual([])
  })

  it('refuses a word that it does not know', async () => {
    const { front } = await open()
    const client = await connect(front, 'worker', era)
    for (const word of ['later', true, null])
      expect(await client.callTool({ name: 'look', arguments: {}, _meta: meta(word) })).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('must be "fail", "wait" or "run"') }],
        _meta: { 'quartermaster/error': { code: 'INPUT_INVALID' } },
      })
  })

  it('runs anyway for an agent whose file allows it, and for no other', async () => {
    const { front } = await open()
    const call = { name: 'look', arguments: {}, _meta: meta('run') }
    expect(await (await connect(front, 'worker', era)).callTool(call)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('"runDisabled": true') }],
      _meta: { 'quartermaster/error': { code: 'REQUEST_REFUSED' } },
    })
    const daring = await connect(front, 'daring', era)
    expect((await daring.callTool(call)).content).toEqual([{ type: 'text', text: 'sunny' }])
  })

  it('waits as well when it is called through call_tool, and get_status shows its result', async () => {
    const { front, back } = await open()
    const client = await connect(front, 'narrow', era)
    await client.listTools()
    const answer = await client.callTool({
      name: 'call_tool',
      arguments: { name: 'measure', arguments: {} },
      _meta: meta('wait'),
    })
    expect(answer.structuredContent).toMatchObject({ status: 'waiting', for: 'dependency', missing: ['station'] })
    const id = answer._meta?.['quartermaster/operationId']
    const status = async () => (await client.callTool({ name: 'get_status', arguments: { id } })).content
    expect(await status()).toMatchObject([
      { text: expect.stringContaining('(measure): waits for what it needs, and runs automatically.') },
    ])
    await back()
    expect(await status()).toMatchObject([{ text: expect.stringMatching(/done\.\n.*"celsius":4/s) }])
  })
})
