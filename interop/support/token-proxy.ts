import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface TokenProxy {
  /** Where it listens, without a path. */
  readonly url: string
  stop(): Promise<void>
}

/**
 * Stands in front of a server for a client that cannot send a token: it adds one and passes all else on as it comes, in
 * both directions. Host and Origin stay what the client said, except that our port becomes the server's, which is how
 * they would read without us.
 */
export async function startTokenProxy({ target, token }: { target: string; token: string }): Promise<TokenProxy> {
  const server = createServer((incoming, outgoing) => {
    const headers = headersFor(incoming, { token, from: portOf(server), to: new URL(target).port })
    pass(incoming, outgoing, { target, headers })
  })
  // A stream may stay open, and silent, as long as its client likes.
  server.requestTimeout = 0
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://localhost:${portOf(server)}`,
    async stop() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

const portOf = (server: Server) => String((server.address() as AddressInfo).port)

function headersFor(
  { rawHeaders }: IncomingMessage,
  { token, from, to }: { token: string; from: string; to: string },
): string[] {
  const headers = rawHeaders.map((text, index) => {
    const name = rawHeaders[index - 1]
    const isAddress = index % 2 === 1 && name !== undefined && /^(host|origin)$/i.test(name)
    return isAddress ? text.replace(new RegExp(`:${from}$`), `:${to}`) : text
  })
  return [...headers, 'Authorization', `Bearer ${token}`]
}

function pass(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { target, headers }: { target: string; headers: string[] },
): void {
  const { method, url = '/' } = incoming
  const { hostname, port } = new URL(target)
  // Without an agent: a connection for each request, so that one that is aborted takes no other along.
  const forwarded = request({ hostname, port, path: url, method, headers, setHost: false, agent: false })
  forwarded.once('response', answer => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders)
    outgoing.flushHeaders()
    answer.pipe(outgoing)
    answer.once('error', () => outgoing.destroy())
  })
  forwarded.once('error', () => outgoing.destroy())
  outgoing.once('close', () => forwarded.destroy())
  incoming.pipe(forwarded)
}
