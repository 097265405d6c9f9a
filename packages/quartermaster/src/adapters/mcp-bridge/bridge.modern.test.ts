import { describe, expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { bridge, endpoint, modern, notification, type Visit } from './testing/bridge-fixture.ts'

const text = (value: string) => ({ resultType: 'complete', content: [{ type: 'text', text: value }] })

describe('a bridge for a client of 2026-07-28', () => {
  it('passes a request on with the headers that repeat it, and the answer back', async () => {
    const { url, visits } = await endpoint(visit => visit.answer(text('hello')))
    const desk = bridge({ urls: [url] })
    desk.send(modern(1, 'tools/call', { name: 'greet', arguments: {} }))
    expect(await desk.next()).toEqual({ jsonrpc: '2.0', id: 1, result: text('hello') })
    expect(visits[0]?.headers).toMatchObject({
      authorization: 'Bearer token-1',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'greet',
    })
    expect(visits[0]?.headers).not.toHaveProperty('mcp-session-id')
  })

  it.each([
    { method: 'prompts/get', params: { name: 'plan' }, header: 'plan' },
    { method: 'resources/read', params: { uri: 'file:///ü' }, header: '=?base64?ZmlsZTovLy/DvA==?=' },
    { method: 'tasks/get', params: { taskId: 't 1' }, header: 't 1' },
    { method: 'tools/list', params: { name: 'x' }, header: undefined },
  ])('names $method by $header', async ({ method, params, header }) => {
    const { url, visits } = await endpoint(visit => visit.answer({}))
    const desk = bridge({ urls: [url] })
    desk.send(modern(1, method, params))
    await desk.next()
    expect(visits[0]?.headers['mcp-name']).toBe(header)
  })

  it('passes on what comes before the answer, in its order', async () => {
    const { url } = await endpoint(visit => {
      const say = visit.stream()
      for (const progress of [1, 2]) say(notification('notifications/progress', { progress }))
      say({ jsonrpc: '2.0', id: visit.body.id, result: text('done') })
      visit.response.end()
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
    const { url } = await endpoint(visit => visit.body.id !== 'slow' && visit.answer({ n: visit.body.id }))
    const desk = bridge({ urls: [url] })
    desk.send(modern('slow', 'tools/call', { name: 'wait' }))
    for (const id of [1, 2, 3]) desk.send(modern(id, 'tools/list'))
    const ids = [await desk.next(), await desk.next(), await desk.next()].map(message => message.id)
    expect(ids.toSorted()).toEqual([1, 2, 3])
  })

  it('cancels by hanging up, and says no more about it', async () => {
    const came = deferred<Visit>()
    const { url } = await endpoint(visit => (visit.body.id === 1 ? came.resolve(visit) : visit.answer({})))
    const desk = bridge({ urls: [url] })
    desk.send(modern(1, 'tools/call', { name: 'wait' }))
    const visit = await came.promise
    desk.send(notification('notifications/cancelled', { requestId: 1 }))
    await visit.closed
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

  it('repeats marked arguments as headers, once a list of tools has passed by', async () => {
    const { url, visits } = await endpoint(visit => visit.answer({ tools: [{ name: 'run', inputSchema }] }))
    const desk = bridge({ urls: [url] })
    desk.send(modern(1, 'tools/list'))
    await desk.next()
    desk.send(call)
    await desk.next()
    expect(visits[1]?.headers).toMatchObject({ 'mcp-param-region': '=?base64?WsO8cmljaA==?=', 'mcp-param-level': '3' })
  })

  it('lists by itself when headers are missing, page by page, and calls again', async () => {
    const { url, visits } = await endpoint(({ body, headers, json, answer }) => {
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
    expect(visits.map(({ body }) => body.method)).toEqual(['tools/call', 'tools/list', 'tools/list', 'tools/call'])
  })

  it('passes a refusal on under the id that was asked with', async () => {
    const refusal = { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'Too large.' } }
    const { url } = await endpoint(visit => visit.json(413, refusal))
    const desk = bridge({ urls: [url] })
    desk.send(modern(7, 'tools/call', { name: 'x' }))
    expect(await desk.next()).toEqual({ ...refusal, id: 7 })
  })

  it('keeps numbers that are larger than its own', async () => {
    const bodies: string[] = []
    const { url } = await endpoint(visit => {
      bodies.push(JSON.stringify(visit.body))
      visit.response.writeHead(200, { 'content-type': 'application/json' })
      visit.response.end('{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}')
    })
    const desk = bridge({ urls: [url] })
    const raw = new Promise<string>(resolve => desk.output.once('data', chunk => resolve(String(chunk))))
    desk.send(modern(1, 'tools/list'))
    expect(await raw).toBe('{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}\n')
  })
})
