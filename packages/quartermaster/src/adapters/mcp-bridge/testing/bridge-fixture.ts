import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { onTestFinished } from 'vitest'
import { createSystemClock } from '../../system/index.ts'
import { type Gateway, runBridge } from '../index.ts'

type BridgeOptions = Parameters<typeof runBridge>[0]

type Json = Record<string, unknown>

/** A request that reached the server, and how to answer it. */
export interface ReceivedRequest {
  readonly http: string
  readonly headers: IncomingMessage['headers']
  readonly body: Json
  readonly response: ServerResponse
  /** Resolves when the other side has hung up. */
  readonly closed: Promise<void>
  answer(result: Json): void
  json(status: number, body?: Json, headers?: Record<string, string>): void
  /** Begins a stream, and answers how to put messages on it. */
  stream(headers?: Record<string, string>): (message: Json) => void
  drop(): void
}

/** An endpoint that a test answers for. */
export interface TestEndpoint {
  readonly url: string
  /** What came, oldest first. */
  readonly received: ReceivedRequest[]
  close(): Promise<void>
}

export async function endpoint(handle: (incoming: ReceivedRequest) => void): Promise<TestEndpoint> {
  const received: ReceivedRequest[] = []
  const server = createServer(async (request, response) => {
    const incoming = await toIncoming(request, response)
    received.push(incoming)
    handle(incoming)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => closeServer(server))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    received,
    close: () => closeServer(server),
  }
}

async function toIncoming(request: IncomingMessage, response: ServerResponse): Promise<ReceivedRequest> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  const body = (text === '' ? {} : JSON.parse(text)) as Json
  const json: ReceivedRequest['json'] = (status, value, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(value === undefined ? undefined : JSON.stringify(value))
  }
  return {
    http: request.method ?? '',
    headers: request.headers,
    body,
    response,
    closed: new Promise(resolve => response.once('close', () => resolve())),
    answer: result => json(200, { jsonrpc: '2.0', id: body.id, result }),
    json,
    stream(headers = {}) {
      response.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
      response.flushHeaders()
      return message => void response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
    },
    drop: () => void request.socket.destroy(),
  }
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise(resolve => server.close(resolve))
  server.closeAllConnections()
  await closed
}

/** A client's side of a bridge. */
export interface Desk {
  send(message: Json | string): void
  /** The next message that the client gets. */
  next(): Promise<Json>
  /** Everything the client got that was not taken. */
  rest(): Json[]
  /** The client stops talking. */
  end(): void
  readonly done: ReturnType<typeof runBridge>
  readonly told: string[]
  readonly givenBack: string[]
  readonly output: PassThrough
}

interface DeskOptions extends Partial<BridgeOptions> {
  /** Where the gateway is, each time one is looked for; the last one stays. */
  readonly urls?: readonly string[]
}

export function bridge(options: DeskOptions = {}): Desk {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const stop = new AbortController()
  const told: string[] = []
  const givenBack: string[] = []
  const urls = [...(options.urls ?? [])]
  let count = 0
  let keys = 0
  const find = async (): Promise<Gateway> => {
    const token = `token-${++count}`
    const url = (urls.length > 1 ? urls.shift() : urls[0]) ?? ''
    return { url, token, goodForMs: 60_000, extend: async () => {}, giveBack: async () => void givenBack.push(token) }
  }
  const done = runBridge({
    input,
    output,
    clock: createSystemClock(),
    random: () => 0.5,
    find,
    command: 'quartermaster up',
    createKey: () => `key-${++keys}`,
    tell: text => void told.push(text),
    signal: stop.signal,
    ...options,
  })
  onTestFinished(async () => {
    stop.abort()
    await done
  })
  return {
    ...received(output),
    send: message => void input.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`),
    end: () => void input.end(),
    done,
    told,
    givenBack,
    output,
  }
}

function received(output: PassThrough): Pick<Desk, 'next' | 'rest'> {
  const messages: Json[] = []
  const waiting: ((message: Json) => void)[] = []
  let rest = ''
  output.on('data', chunk => {
    const lines = `${rest}${String(chunk)}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const message = JSON.parse(line) as Json
      const take = waiting.shift()
      if (take) take(message)
      else messages.push(message)
    }
  })
  return {
    async next() {
      const message = messages.shift()
      return message ?? new Promise(resolve => waiting.push(resolve))
    },
    rest: () => messages.splice(0),
  }
}

const VERSION = '2026-07-28'

/** A request of the modern era. */
export function modern(id: number | string, method: string, params: Json = {}): Json {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientCapabilities': {},
    ...(params._meta as Json | undefined),
  }
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta } }
}

/** A request of the era before. */
export function legacy(id: number | string, method: string, params: Json = {}): Json {
  return { jsonrpc: '2.0', id, method, params }
}

export function notification(method: string, params: Json = {}): Json {
  return { jsonrpc: '2.0', method, params }
}
