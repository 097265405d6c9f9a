import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { type AnyTool, defineTool } from '../../core/catalogue/index.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { ask, connect, ERAS, frontOf } from './testing/front.ts'

/** A tool that may be tried again, and one that promises a structure; both fail as often as a test says. */
async function open(failures = 0) {
  const runs: unknown[] = []
  const run = (input: unknown) => {
    runs.push(input)
    if (runs.length <= failures) throw new AppError('DEPENDENCY_UNAVAILABLE', 'The post office is closed.')
  }
  const facts = { mutates: true, idempotent: true, retry: 'replay' } as const
  const sendMail = simpleTool('send_mail', { ...facts, handler: input => (run(input), `sent ${runs.length}`) })
  const weigh = defineTool({
    ...facts,
    name: 'weigh',
    short: 'Weighs.',
    input: { type: 'object' },
    output: { type: 'object', properties: { grams: { type: 'number' } }, required: ['grams'] },
    handler: input => (run(input), { grams: 20 }),
  }) as AnyTool
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', [sendMail, weigh])] } },
    agents: { worker: { capabilities: { main: {} } }, other: { capabilities: { main: {} } } },
    tellEnd: (operation, caller) => hub.mcp.notifyEnded(operation, caller),
  })
  hub.work()
  return { hub, runs, front: frontOf(hub, {}) }
}

/** Has a client hear of changes at an address; answers what it has heard. */
async function listenTo(client: Client, uri: string): Promise<() => string[]> {
  const heard: string[] = []
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.push(params.uri))
  if (client.getProtocolEra() === 'legacy') await client.subscribeResource({ uri })
  else await client.listen({ resourceSubscriptions: [uri] })
  return () => heard
}

const sendMailCall = { method: 'tools/call', name: 'send_mail', params: { name: 'send_mail', arguments: {} } }

const keyed = (key: unknown) => ({ 'quartermaster/idempotencyKey': key })

describe.each(ERAS)('a client of the era %s', era => {
  it('repeats a call under its key and gets the first answer', async () => {
    const { front, runs } = await open()
    const client = await connect(front, 'worker', era)
    const call = { name: 'send_mail', arguments: { to: 'eve' }, _meta: keyed('k1') }
    const first = await client.callTool(call)
    expect(await client.callTool(call)).toEqual(first)
    expect(runs).toHaveLength(1)
  })

  it('is told of a conflict, and of a key that is none', async () => {
    const { front, runs } = await open()
    const client = await connect(front, 'worker', era)
    await client.callTool({ name: 'send_mail', arguments: { to: 'eve' }, _meta: keyed('k1') })
    const codes = []
    for (const [key, to] of [['k1', 'bob'] as const, [7, 'eve'] as const, ['', 'eve'] as const]) {
      const { _meta } = await client.callTool({ name: 'send_mail', arguments: { to }, _meta: keyed(key) })
      codes.push((_meta?.['quartermaster/error'] as { code: string } | undefined)?.code)
    }
    expect(codes).toEqual(['IDEMPOTENCY_CONFLICT', 'INPUT_INVALID', 'INPUT_INVALID'])
    expect(runs).toHaveLength(1)
  })

  it('gets a handle on a call that is tried again, and its result later under the same key', async () => {
    const { hub, front, runs } = await open(1)
    const client = await connect(front, 'worker', era)
    const call = { name: 'send_mail', arguments: {}, _meta: keyed('k1') }
    const answer = await client.callTool(call)
    const handle = { status: 'waiting', for: 'retry', operationId: answer._meta?.['quartermaster/operationId'] }
    expect(answer).toMatchObject({ structuredContent: handle, _meta: { 'quartermaster/waiting': handle } })
    // Some clients show the model the structure alone, some the text.
    const told = expect.stringContaining(
      `Expires in 24 hours; tried again automatically. Continue with other work; get_status {"id":"${handle.operationId}"} shows the result.`,
    )
    expect(answer).toMatchObject({ structuredContent: { message: told }, content: [{ type: 'text', text: told }] })
    expect(answer.isError).toBeUndefined()
    expect(await client.callTool(call)).toMatchObject({ structuredContent: handle })
    await hub.clock.advance(10_000)
    expect(await client.callTool(call)).toMatchObject({ content: [{ type: 'text', text: 'sent 2' }] })
    expect(runs).toHaveLength(2)
  })

  it('hears when a call has ended that it had a handle on, and reads there what it came to', async () => {
    const { hub, front } = await open(1)
    const client = await connect(front, 'worker', era)
    const other = await connect(front, 'other', era)
    const { _meta } = await client.callTool({ name: 'send_mail', arguments: {} })
    const uri = `quartermaster://operations/${String(_meta?.['quartermaster/operationId'])}`
    const heard = await listenTo(client, uri)
    const read = async (one: typeof client) => {
      const { contents } = await one.readResource({ uri })
      return JSON.parse((contents[0] as { text: string }).text) as { state: string }
    }
    expect(await read(client)).toMatchObject({ state: 'queued' })
    await hub.clock.advance(10_000)
    await expect.poll(heard).toEqual([uri])
    expect(await read(client)).toMatchObject({ state: 'succeeded', result: { content: [{ text: 'sent 2' }] } })
    await expect(read(other)).rejects.toThrow()
  })

  it('hears of ends that it missed when it comes back', async () => {
    const { hub, front } = await open(1)
    const { result } = await ask(front, 'worker', sendMailCall)
    const { _meta } = result as { _meta: Record<string, string> }
    const id = _meta['quartermaster/operationId'] ?? ''
    await hub.clock.advance(10_000)
    const ended = await hub.operations.find('default', id)
    expect([ended.state, ended.announcedAt]).toEqual(['succeeded', undefined])
    const client = await connect(front, 'worker', era)
    const heard = await listenTo(client, 'quartermaster://operations')
    await expect.poll(() => hub.operations.find('default', id)).toMatchObject({ announcedAt: expect.any(Number) })
    // One of the older era may be told by a log message alone, as soon as its stream is there.
    const few = era === 'legacy' ? 0 : 1
    await expect.poll(() => heard().length).toBeGreaterThanOrEqual(few)
    const { contents } = await client.readResource({ uri: 'quartermaster://operations' })
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject([{ id, state: 'succeeded' }])
  })

  it('hears of every end of its agent when it watches the operations', async () => {
    const { hub, front } = await open(1)
    const client = await connect(front, 'worker', era)
    const heard = await listenTo(client, 'quartermaster://operations')
    const other = await listenTo(await connect(front, 'other', era), 'quartermaster://operations')
    await client.callTool({ name: 'send_mail', arguments: {} })
    await hub.clock.advance(10_000)
    await expect.poll(heard).toEqual(['quartermaster://operations'])
    expect(other()).toEqual([])
  })

  it('gets a handle that is no error and fits what the tool promises, as it checks itself', async () => {
    const { hub, front } = await open(1)
    const client = await connect(front, 'worker', era)
    const { tools } = await client.listTools()
    expect(tools.find(({ name }) => name === 'weigh')?.outputSchema).toMatchObject({ type: 'object' })
    const call = { name: 'weigh', arguments: {}, _meta: keyed('k1') }
    const answer = await client.callTool(call)
    expect(answer).toMatchObject({ structuredContent: { status: 'waiting', for: 'retry' } })
    expect(answer.isError).toBeUndefined()
    await hub.clock.advance(10_000)
    expect(await client.callTool(call)).toMatchObject({ structuredContent: { grams: 20 } })
  })
})

describe('an idempotency key', () => {
  it('may come as a header', async () => {
    const { front, runs } = await open()
    const call = { method: 'tools/call', name: 'send_mail', params: { name: 'send_mail', arguments: {} } }
    const headers = { 'idempotency-key': 'k1' }
    const first = await ask(front, 'worker', { ...call, headers })
    expect(await ask(front, 'worker', { ...call, headers })).toEqual(first)
    expect(runs).toHaveLength(1)
  })
})
