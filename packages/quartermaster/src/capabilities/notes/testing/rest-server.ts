import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { TLS_IDENTITY } from '../../../adapters/mcp-upstream/testing/tls-identity.ts'

/** A server that answers as Obsidian's Local REST API does, over a real folder and with a certificate of its own. */
export interface RestServer {
  readonly url: string
  /** What it was asked, as `PUT /vault/Tasks.md`. */
  readonly asked: string[]
  /** Done before the next answer to a request of this method. */
  before: { GET?: (path: string) => unknown; PUT?: (path: string) => unknown }
  /** Done in place of the next write. */
  insteadOfPut?: ((response: ServerResponse, write: () => Promise<void>) => unknown) | undefined
  stop(): Promise<void>
}

export interface RestServerOptions {
  vault: string
  key: string
  /** Versions before conditional writes ignore `If-Match`, and their tags are those of the web server. */
  isOld?: boolean
  port?: number
}

export async function restServer(options: RestServerOptions): Promise<RestServer> {
  const { vault, key, isOld = false, port = 0 } = options
  const asked: string[] = []
  const server = createServer(TLS_IDENTITY, (request, response) => {
    asked.push(`${request.method} ${decodeURIComponent(request.url ?? '')}`)
    void answer(request, response).catch(error => response.writeHead(500).end(String(error)))
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isAuthenticated = request.headers.authorization === `Bearer ${key}`
    const path = decodeURIComponent((request.url ?? '').replace('/vault/', ''))
    if (request.url === '/')
      return json(response, 200, { status: 'OK', service: SERVICE, authenticated: isAuthenticated })
    if (!isAuthenticated) return json(response, 401, { errorCode: 40101, message: 'Authorization required.' })
    if (path === '') return listing(response)
    if (request.method === 'PUT') return put(request, response, path)
    await rest.before.GET?.(path)
    const bytes = await readFile(join(vault, path)).catch(() => undefined)
    if (!bytes) return json(response, 404, { errorCode: 40400, message: 'Not Found' })
    response.writeHead(200, { 'content-type': 'text/markdown; charset=utf-8', etag: tagOf(bytes) }).end(bytes)
  }

  async function listing(response: ServerResponse): Promise<void> {
    const entries = (await readdir(vault, { withFileTypes: true })).filter(({ name }) => !name.startsWith('.'))
    if (entries.length === 0 && isOld) return json(response, 404, { errorCode: 40400 })
    json(response, 200, { files: entries.map(entry => (entry.isDirectory() ? `${entry.name}/` : entry.name)) })
  }

  async function put(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    await rest.before.PUT?.(path)
    const before = await readFile(join(vault, path)).catch(() => undefined)
    const { 'if-match': match, 'if-none-match': noneMatch } = request.headers
    const isMet = (match === undefined || (before && match === tagOf(before))) && !(noneMatch === '*' && before)
    if (!isOld && !isMet) return json(response, 412, { errorCode: 41200 })
    const write = async () => {
      await mkdir(dirname(join(vault, path)), { recursive: true })
      await writeFile(join(vault, path), received(request, Buffer.concat(chunks)))
    }
    const instead = rest.insteadOfPut
    rest.insteadOfPut = undefined
    if (instead) return void (await instead(response, write))
    await write()
    response.writeHead(204).end()
  }

  const tagOf = (bytes: Buffer) => {
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
    return isOld ? `W/"${hash}"` : `"${hash}"`
  }

  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const rest: RestServer = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    before: {},
    async stop() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  onTestFinished(() => rest.stop().then(() => undefined))
  return rest
}

const SERVICE = 'Obsidian Local REST API'

/** A body that comes as text is decoded, which takes the mark of byte order from it. */
function received(request: IncomingMessage, body: Buffer): Buffer {
  const isText = request.headers['content-type']?.startsWith('text/')
  return isText ? Buffer.from(new TextDecoder().decode(body)) : body
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
