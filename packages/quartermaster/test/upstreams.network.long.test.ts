import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { httpEndpoint } from '../src/adapters/mcp-upstream/testing/http-endpoint.ts'
import { answerLegacy } from '../src/adapters/mcp-upstream/testing/legacy-answers.ts'
import { TLS_IDENTITY } from '../src/adapters/mcp-upstream/testing/tls-identity.ts'
import { makeProject, quartermaster, startUp, startUpProcess } from './support/product.ts'

interface UpstreamRow {
  readonly state: string
  readonly reason?: string
}

const NONE: UpstreamRow = { state: 'none' }

/** A project with one upstream, and a file that says whom else to trust. */
function projectWith(url: string): Promise<string> {
  return makeProject({
    'quartermaster.config.json': JSON.stringify({
      mcpServers: { tracker: { url } },
      settings: { recoveringSeconds: 1 },
    }),
    'agents/default.json': JSON.stringify({ capabilities: { tracker: {} } }),
    'trusted.pem': TLS_IDENTITY.cert,
  })
}

async function rowOf(cwd: string): Promise<UpstreamRow> {
  const answer = await quartermaster(['upstreams', '--json'], { cwd })
  return answer.json<UpstreamRow[]>()[0] ?? NONE
}

async function reaches(cwd: string, state: string): Promise<UpstreamRow> {
  let row = NONE
  await expect.poll(async () => (row = await rowOf(cwd)).state).toBe(state)
  return row
}

/** A proxy that alone resolves one name, and what it was asked for. */
async function proxyFor(name: string, port: number): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = []
  const proxy = createServer()
  proxy.on('connect', ({ url = '' }, client) => {
    asked.push(url)
    if (url !== `${name}:443`) return void client.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    const server = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      server.pipe(client).pipe(server)
    })
    for (const end of [server, client]) end.on('error', () => void (server.destroy(), client.destroy()))
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void proxy.close())
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, asked }
}

it('reaches an upstream by https whose certificate Node is configured to trust', async () => {
  const server = await httpEndpoint(answerLegacy, { tls: TLS_IDENTITY })
  const cwd = await projectWith(server.url)
  await startUpProcess(cwd, [], { NODE_EXTRA_CA_CERTS: 'trusted.pem' })
  await reaches(cwd, 'up')
  expect(server.visits.map(({ body }) => body.method)).toContain('tools/list')
})

it('sends nothing to an upstream by https with an untrusted certificate, and says so', async () => {
  const server = await httpEndpoint(answerLegacy, { tls: TLS_IDENTITY })
  const cwd = await projectWith(server.url)
  await startUp(cwd)
  expect((await reaches(cwd, 'down')).reason).toMatch(/certificate/)
  expect(server.visits).toEqual([])
})

it('reaches an upstream through the proxy that Node is configured to use', async () => {
  const server = await httpEndpoint(answerLegacy, { tls: TLS_IDENTITY })
  const proxy = await proxyFor('tracker.test', server.port)
  const cwd = await projectWith('https://tracker.test/mcp')
  await startUpProcess(cwd, [], { NODE_EXTRA_CA_CERTS: 'trusted.pem', NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: proxy.url })
  await reaches(cwd, 'up')
  expect(new Set(proxy.asked)).toEqual(new Set(['tracker.test:443']))
})
