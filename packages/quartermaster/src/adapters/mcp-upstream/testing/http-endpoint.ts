import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

type Json = Record<string, unknown>

/** A request that reached the endpoint, and how to answer it. */
export interface Visit {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body as JSON; empty when there is none. */
  readonly body: Json
  readonly response: ServerResponse
  json(status: number, body?: unknown, headers?: Record<string, string>): void
  /** Answers the JSON-RPC request in the body. */
  result(result: Json, headers?: Record<string, string>): void
  /** Begins a stream of events, and answers how to write on it. */
  events(headers?: Record<string, string>): (text: string) => void
  /** Ends the connection without a word. */
  drop(): void
}

export interface HttpEndpoint {
  readonly url: string
  readonly origin: string
  readonly port: number
  readonly visits: Visit[]
  /** Resolves when so many have come. */
  arrived(count: number): Promise<void>
  /** Ends all connections, and takes new ones. */
  dropAll(): void
  /** Takes no new connections, and answers on those it has: as one does that is about to stop. */
  stopListening(): void
  close(): Promise<void>
}

interface EndpointOptions {
  readonly host?: string
  readonly port?: number
  /** Its key and certificate, if it is reached by https. */
  readonly tls?: { readonly key: string; readonly cert: string }
}

/** A server on this machine that a test answers for. */
export async function httpEndpoint(
  handle: (visit: Visit) => unknown,
  { host = '127.0.0.1', port: wanted = 0, tls }: EndpointOptions = {},
): Promise<HttpEndpoint> {
  const visits: Visit[] = []
  const waiting = new Set<() => void>()
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const visit = await visitOf(request, response)
    visits.push(visit)
    for (const tell of waiting) tell()
    await handle(visit)
  }
  const server = tls ? createTlsServer(tls, receive) : createServer(receive)
  await new Promise<void>(resolve => server.listen(wanted, host, resolve))
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  onTestFinished(close)
  const origin = `${tls ? 'https' : 'http'}://${host}:${port}`
  return {
    url: `${origin}/mcp`,
    origin,
    port,
    visits,
    close,
    dropAll: () => server.closeAllConnections(),
    stopListening() {
      server.close()
      server.closeIdleConnections()
    },
    arrived: count =>
      new Promise(resolve => {
        const look = () => {
          if (visits.length < count) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
  }
}

async function visitOf(request: IncomingMessage, response: ServerResponse): Promise<Visit> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  const url = new URL(request.url ?? '/', 'http://localhost')
  const isJson = request.headers['content-type'] === 'application/json' && text !== ''
  const body = (isJson ? JSON.parse(text) : {}) as Json
  const json: Visit['json'] = (status, value, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(value === undefined ? undefined : JSON.stringify(value))
  }
  return {
    method: request.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    text,
    body,
    response,
    json,
    result: (result, headers) => json(200, { jsonrpc: '2.0', id: body.id, result }, headers),
    events(headers = {}) {
      response.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
      response.flushHeaders()
      return part => void response.write(part)
    },
    drop: () => void request.socket.destroy(),
  }
}
