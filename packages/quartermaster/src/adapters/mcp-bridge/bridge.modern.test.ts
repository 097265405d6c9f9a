import { describe, expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { bridge, endpoint, modern, notification, type ReceivedRequest } from './testing/bridge-fixture.ts'

const text = (value: string) => ({ resultType: 'complete', content: [{ type: 'text', text: value }] })

describe('a bridge for a client of 2026-07-28', () => {
  it('forwards a request with the headers that mirror it, and returns the answer', async () => {
    const { url, received } = await endpoint(incoming => incoming.answer(text('hello')))
    const desk = bridge({ urls: [url] })
    desk.send(modern(1, 'tools/call', { name: 'greet', arguments: {} }))
    expect(await desk.next()).toEqual({ jsonrpc: '2.0', id: 1, result: text('hello') })
    expect(received[0]?.headers).toMatchObject({
      authorization: 'Bearer token-1',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'greet',
    })
    expect(received[0]?.headers).not.toHaveProperty('mcp-session-id')
  })

  it.each([
    { method: 'prompts/get', params: { name: 'plan' }, header: 'plan' },
    { method: 'resources/read', params: { uri: 'file:///ü' }, header: '=?base64?ZmlsZTovLy/DvA==?=' },
    { method: 'tasks/get', params: { taskId: 't 1' }, header: 't 1' },
    { method: 'tools/list', params: { name: 'x' }, header: undefined },
  ])('names $method by $header', async ({ method, params, header }) => {
    const { url, received } = await endpoint(incoming => incoming.answer({}))
    const desk = bridge({ urls: [url] })
    desk.send(modern(1, method, params))
    await desk.next()
    expect(received[0]?.headers['mcp-name']).toBe(header)
  })

  it('forwards notifications before the answer, in order', async () => {
    const { url } = await endpoint(incoming => {
      const say = incoming.stream()
      for (const progress of [1, 2]) say(notification('notifications/progress', { progress }))
      say({ jsonrpc: '2.0', id: incoming.body.id, result: text('done') })
      incoming.response.end()
    })
    const desk = bridge({ urls: [url] })
    desk.send(modern('a', 'tools/call', { name: 'work' }))
    expect([await desk.next(), await desk.next(), await desk.next()]).toEqual([
      notification('notifications/progress', { progress: 1 }),
      notification('notifications/progress', { progress: 2 }),
      { jsonrpc: '2.0', id: 'a', result: text('done') },
    ])
  })

  it('answers others while one waits', async () => {
    const { url } = await endpoint(incoming => incoming.body.id !== 'slow' && incoming.answer({ n: incoming.body.id }))
    const desk = bridge({ urls: [url] })
    desk.send(modern('slow', 'tools/call', { name: 'wait' }))
    for (const id of [1, 2, 3]) desk.send(modern(id, 'tools/list'))
    const ids = [await desk.next(), await desk.next(), await desk.next()].map(message => message.id)
    expect(ids.toSorted()).toEqual([1, 2, 3])
  })

  it('cancels by closing the connection, and drops the answer', async () => {
    const came = deferred<ReceivedRequest>()
    const { url } = await endpoint(incoming => (incoming.body.id === 1 ? came.resolve(incoming) : incoming.answer({})))
    const desk = bridge({ urls: [url] })
    desk.send(modern(1, 'tools/call', { name: 'wait' }))
    const incoming = await came.promise
    desk.send(notification('notifications/cancelled', { requestId: 1 }))
    await incoming.closed
    desk.send(modern(2, 'tools/list'))
    expect(await desk.next()).toMatchObject({ id: 2 })
    expect(desk.rest()).toEqual([])
  })

  const inputSchema = {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      deep: { type: 'object', properties: { level: { type: 'integer', 'x-mcp-header': 'Level' } } },
    },
  }
  const call = modern(2, 'tools/call', { name: 'run', arguments: { region: 'Zürich', deep: { level: 3 } } })

  it('mirrors marked arguments in headers, once it has seen a list of tools', async () => {
    const { url, received } = await endpoint(incoming => incoming.answer({ tools: [{ name: 'run', inputSchema }] }))
    const desk = bridge({ urls: [url] })
    desk.send(modern(1, 'tools/list'))
    await desk.next()
    desk.send(call)
    await desk.next()
    expect(received[1]?.headers).toMatchObject({
      'mcp-param-region': '=?base64?WsO8cmljaA==?=',
      'mcp-param-level': '3',
    })
  })

  it('lists the tools itself when headers are missing, and repeats the call', async () => {
    const { url, received } = await endpoint(({ body, headers, json, answer }) => {
      const { cursor } = body.params as { cursor?: string }
      if (body.method === 'tools/list')
        return cursor === undefined
          ? answer({ tools: [], nextCursor: 'next' })
          : answer({ tools: [{ name: 'run', inputSchema }] })
      if (headers['mcp-param-level'] === '3') return answer(text('ran'))
      return json(400, { jsonrpc: '2.0', id: body.id, error: { code: -32_020, message: 'Header mismatch' } })
    })
    const desk = bridge({ urls: [url] })
    desk.send(call)
    expect(await desk.next()).toEqual({ jsonrpc: '2.0', id: 2, result: text('ran') })
    expect(received.map(({ body }) => body.method)).toEqual(['tools/call', 'tools/list', 'tools/list', 'tools/call'])
  })

  it('forwards a refusal under the request’s id', async () => {
    const refusal = { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'Too large.' } }
    const { url } = await endpoint(incoming => incoming.json(413, refusal))
    const desk = bridge({ urls: [url] })
    desk.send(modern(7, 'tools/call', { name: 'x' }))
    expect(await desk.next()).toEqual({ ...refusal, id: 7 })
  })

  it('keeps numbers that are larger than its own', async () => {
    const bodies: string[] = []
    const { url } = await endpoint(incoming => {
      bodies.push(JSON.stringify(incoming.body))
      incoming.response.writeHead(200, { 'content-type': 'application/json' })
      incoming.response.end('{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}')
    })
    const desk = bridge({ urls: [url] })
    const raw = new Promise<string>(resolve => desk.output.once('data', chunk => resolve(String(chunk))))
    desk.send(modern(1, 'tools/list'))
    expect(await raw).toBe('{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}\n')
  })
})
