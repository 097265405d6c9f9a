import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Where a browser comes back to. */
export interface Callback {
  readonly redirectUrl: string
  close(): void
}

/** Tells the person at the browser what happened. */
export interface CallbackPage {
  readonly ok: boolean
  readonly text: string
}

const CALLBACK_PATH = '/callback'
/** A browser that comes back sends one short request. */
const REQUEST_MS = 10_000

/** Listens on this machine alone, on a port that nobody knows beforehand. */
export async function openCallback(take: (params: URLSearchParams) => Promise<CallbackPage>): Promise<Callback> {
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, maxHeaderSize: 16 * 1024 })
  server.maxConnections = 16
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  server.unref()
  const { port } = server.address() as AddressInfo
  const host = `127.0.0.1:${port}`
  server.on('request', (request, response) => void serve(request, response, { host, take }))
  return { redirectUrl: `http://${host}${CALLBACK_PATH}`, close: () => closeServer(server) }
}

async function serve(
  { method, url = '', headers }: IncomingMessage,
  response: ServerResponse,
  { host, take }: { host: string; take: (params: URLSearchParams) => Promise<CallbackPage> },
): Promise<void> {
  // Anybody on this machine may send anything, so it is compared as it came: not every path is part of an address.
  const [, path, query] = /^([^?]*)\??(.*)$/.exec(url) ?? []
  // A page elsewhere could reach us under a name of its own.
  const isOurs = method === 'GET' && headers.host === host && path === CALLBACK_PATH
  if (!isOurs) return answer(response, 404, { ok: false, text: 'There is nothing here.' })
  const page = await take(new URLSearchParams(query)).catch(() => WENT_WRONG)
  answer(response, page.ok ? 200 : 400, page)
}

/** Whoever waits for the person hears what it was. */
const WENT_WRONG: CallbackPage = { ok: false, text: 'Something went wrong. Look at the terminal.' }

function answer(response: ServerResponse, status: number, { ok, text }: CallbackPage): void {
  const title = ok ? 'Signed in' : 'Not signed in'
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  })
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><p>${escaped(text)}</p></html>\n`,
  )
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`)
}

function closeServer(server: Server): void {
  server.close()
  // What is being answered is answered; who only holds a connection is let go.
  server.closeIdleConnections()
}
