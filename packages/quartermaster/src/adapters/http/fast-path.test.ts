import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { startHttpServer, type TestServerOptions } from '../../testing/http-server.ts'
import type { ServedRequest, ShortMount } from './index.ts'

const text = (body: Uint8Array) => Buffer.from(body).toString()

/** Takes what says so in a header, unless its body says otherwise. */
const SHORT: ShortMount = {
  isFor: headers => headers['x-way'] === 'short',
  answer({ body }) {
    if (text(body) === 'long') return undefined
    return Promise.resolve({ status: 200, headers: JSON_HEADERS, text: JSON.stringify(`short: ${text(body)}`) })
  },
}
const JSON_HEADERS = { 'content-type': 'application/json' }

async function started(short: Partial<ShortMount> = {}, options: TestServerOptions = {}) {
  const requests: ServedRequest[] = []
  const handle = async (request: Request) => Response.json(`long: ${await request.text()}`)
  const mounts = [{ path: '/mcp' as const, handle, short: { ...SHORT, ...short } }]
  const server = await startHttpServer({ mounts, onRequest: request => void requests.push(request), ...options })
  onTestFinished(() => server.close(0))
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${server.url}/mcp`, { method: 'POST', body, headers: { 'x-way': 'short', ...headers } })
  return { ...server, requests, post }
}

/** The head of a request whose body has five bytes. */
const headFor = (port: number) =>
  `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Way: short\r\nConnection: close\r\nContent-Length: 5\r\n\r\n`

/** Hears of each request before the server does. */
function onRequest(listener: (request: IncomingMessage) => void): void {
  const hear = (message: unknown) => listener((message as { request: IncomingMessage }).request)
  subscribe('http.server.request.start', hear)
  onTestFinished(() => void unsubscribe('http.server.request.start', hear))
}

it('answers what its endpoint takes, with the headers that every answer has', async () => {
  const { post } = await started()
  const [short, long] = [await post('ä'), await post('long')]
  expect(await short.json()).toBe('short: ä')
  expect(await long.json()).toBe('long: long')
  const lines = ({ headers }: Response) => [...headers].filter(([name]) => !/^(date|content-length)$/.test(name)).sort()
  expect(lines(short)).toEqual(lines(long))
})

it('has the application answer whatever it does not take, the body included', async () => {
  const { url, post } = await started()
  expect(await (await post('hello', { 'x-way': 'other' })).json()).toBe('long: hello')
  expect(await (await post('long')).json()).toBe('long: long')
  expect((await fetch(`${url}/mcp?x=1`, { method: 'POST', headers: { 'x-way': 'short' }, body: 'hello' })).status).toBe(
    200,
  )
  expect((await fetch(`${url}/nowhere`, { method: 'POST', headers: { 'x-way': 'short' }, body: 'hello' })).status).toBe(
    404,
  )
})

it('reads no more than a little before its sender is known', async () => {
  const { post } = await started()
  const [fits, large] = ['a'.repeat(65_536), 'a'.repeat(65_537)]
  expect(await (await post(fits)).json()).toBe(`short: ${fits}`)
  expect(await (await post(large)).json()).toBe(`long: ${large}`)
})

it('has the application refuse more headers than there may be', async () => {
  const { post } = await started()
  const many = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`x-${i}`, 'a']))
  expect((await post('hello', many)).status).toBe(431)
})

it('takes a body that comes after its head, and requests that come together', async () => {
  const hasHead = deferred()
  const { port } = await started({
    isFor(headers) {
      hasHead.resolve()
      return SHORT.isFor(headers)
    },
  })
  const head = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Way: short\r\nContent-Length: 5\r\n`
  const client = connect(port, '127.0.0.1', () => client.write(`${head}\r\nhe`))
  await hasHead.promise
  client.write(`llo${head}\r\nthere${head}Connection: close\r\n\r\nworld`)
  const answers = Buffer.concat(await client.toArray()).toString()
  expect(answers.match(/short: \w+/g)).toEqual(['short: hello', 'short: there', 'short: world'])
})

it('leaves a body of unknown length to the application', async () => {
  const { raw, port } = await started()
  const head = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Way: short\r\nConnection: close\r\n`
  expect(await raw(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`)).toContain('long: hello')
})

it.each([
  ['a foreign host', 'Host: evil.example'],
  ['a foreign origin', 'Host: 127.0.0.1:PORT\r\nOrigin: https://evil.example'],
  ['two hosts', 'Host: 127.0.0.1:PORT\r\nHost: evil.example'],
])('refuses %s as the application does', async (_what, lines) => {
  const { raw, port } = await started()
  const head = `POST /mcp HTTP/1.1\r\n${lines.replace('PORT', String(port))}\r\nX-Way: short\r\nConnection: close\r\n`
  const answer = await raw(`${head}Content-Length: 5\r\n\r\nhello`)
  expect(answer).toMatch(/^HTTP\/1.1 40[03] /)
  expect(answer).not.toContain('short:')
})

it('counts what it serves as the application does', async () => {
  const { post, requests, lines } = await started()
  await post('hello')
  await post('long')
  expect(requests.map(({ route, method, status }) => [route, method, status])).toEqual([
    ['/mcp', 'POST', 200],
    ['/mcp', 'POST', 200],
  ])
  expect(lines.filter(line => line.includes('request')).length).toBe(2)
})

it('is not taken where requests are traced', async () => {
  const tracer = { start: () => ({ trace: { traceparent: '' }, end() {} }) }
  const { post } = await started({}, { tracer })
  expect(await (await post('hello')).json()).toBe('long: hello')
})

it('tells nobody what went wrong inside', async () => {
  const failing = [
    () => {
      throw new Error('a secret')
    },
    () => Promise.reject(new Error('a secret')),
  ]
  for (const answer of failing) {
    const response = await (await started({ answer })).post('hello')
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('secret')
  }
})

it('passes a stream on as it comes', async () => {
  let send = (_text: string) => {}
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      send = line => controller.enqueue(Buffer.from(line))
    },
  })
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }
  const { post } = await started({ answer: async () => new Response(body, { headers }) })
  const response = await post('hello')
  expect(response.headers.get('cache-control')).toBe('no-cache')
  const reader = response.body?.getReader()
  send('one')
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('one')
  await reader?.cancel()
})

it('says when the client has gone, and is not asked for one that went before its request was whole', async () => {
  const [asked, gone] = [deferred(), deferred()]
  let times = 0
  const { port } = await started({
    answer(_request, signal) {
      times++
      signal.addEventListener('abort', () => gone.resolve())
      asked.resolve()
      return new Promise(() => {})
    },
  })
  const head = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Way: short\r\nContent-Length: 5\r\n\r\n`
  const half = connect(port, '127.0.0.1', () => half.end(`${head}hel`))
  await new Promise(resolve => half.resume().once('close', resolve))
  const whole = connect(port, '127.0.0.1', () => whole.write(`${head}hello`))
  await asked.promise
  whole.destroy()
  await gone.promise
  expect(times).toBe(1)
})

it('tells that a client has gone which leaves with its last byte', async () => {
  const told = deferred<unknown>()
  const { port } = await started({
    answer(_request, gone) {
      gone.addEventListener('abort', () => told.resolve(gone.reason))
      return new Promise(() => {})
    },
  })
  connect(port, '127.0.0.1')
    .resume()
    .end(`${headFor(port)}hello`)
  expect(await told.promise).toEqual(new Error('The client went away.'))
})

it('does not wait for a body as a stream that came with its head', async () => {
  const listened: unknown[] = []
  onRequest(request => request.on('newListener', name => void listened.push(name)))
  const { raw, port } = await started()
  expect(await raw(`${headFor(port)}hello`)).toContain('short: hello')
  expect(listened).not.toContain('data')
})
