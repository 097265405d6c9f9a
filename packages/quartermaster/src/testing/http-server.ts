import { connect } from 'node:net'
import {
  createFastPath,
  createHttpApp,
  type HttpAppOptions,
  type Listener,
  listen,
  type ServerLimits,
} from '../adapters/http/index.ts'
import { collectedLog } from './collected-log.ts'
import { fakeControl } from './fake-control.ts'

export const ADMIN_TOKEN = 'the-admin-token-of-this-test'

export interface TestServer extends Listener {
  /** What was logged, a text each. */
  readonly lines: readonly string[]
  /** Posts to the control API as the administrator, unless the headers say otherwise. */
  post(operation: string, input: unknown, init?: RequestInit): Promise<Response>
  /** Sends these bytes over a bare socket and resolves to everything that came back once the server closed it. */
  raw(bytes: string): Promise<string>
}

export type TestServerOptions = Partial<HttpAppOptions> & { host?: string; serverLimits?: Partial<ServerLimits> }

/** A real server on a free port of this machine. Every option has a harmless default. */
export async function startHttpServer({ host, serverLimits, ...options }: TestServerOptions = {}): Promise<TestServer> {
  const { log, lines } = collectedLog()
  const served: HttpAppOptions = {
    control: fakeControl(),
    isAdmin: token => token === ADMIN_TOKEN,
    isReady: () => true,
    status: () => ({ version: '1.2.3', generation: 7 }),
    allowedHosts: () => [],
    log,
    ...options,
  }
  const listener = await listen({
    app: createHttpApp(served),
    fastPath: createFastPath(served),
    port: 0,
    log,
    ...(host && { host }),
    ...(serverLimits && { limits: serverLimits }),
  })
  const { url, port } = listener
  return { ...listener, lines, raw: bytes => exchange(port, bytes), post: (...request) => post(url, ...request) }
}

function post(url: string, operation: string, input: unknown, init: RequestInit = {}): Promise<Response> {
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json', ...init.headers }
  return fetch(`${url}/api/v1/control/${operation}`, { method: 'POST', body: JSON.stringify(input), ...init, headers })
}

function exchange(port: number, bytes: string): Promise<string> {
  return new Promise(resolve => {
    const parts: Buffer[] = []
    const socket = connect(port, '127.0.0.1', () => void socket.write(bytes))
    socket.on('data', part => void parts.push(part))
    // A reset counts as closing: what came before it is what the peer was told.
    socket.on('error', () => {})
    socket.on('close', () => resolve(Buffer.concat(parts).toString('utf8')))
  })
}
