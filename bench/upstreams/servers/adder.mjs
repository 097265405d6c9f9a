// @ts-check
// The server behind everything that is measured: both eras, by hand, so that its own time is small and the same for all.
// node adder.mjs [--http=PORT] [--pids=FILE] [--tools=N] [--exit]. Over stdio unless a port is given, 0 for any; then it prints its
// address as its first line. --pids appends its process number to a file; --tools is how many tools it lists, of which one adds;
// --exit ends it as soon as it has started.
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { parseArgs } from 'node:util'

/** @typedef {{ id?: number | string, method: string, params?: Record<string, any> }} Request */

const { values: flags } = parseArgs({
  options: {
    http: { type: 'string' },
    pids: { type: 'string' },
    tools: { type: 'string', default: '1' },
    exit: { type: 'boolean', default: false },
  },
})
if (flags.pids !== undefined) appendFileSync(flags.pids, `${process.pid}\n`)
if (flags.exit) process.exit(1)

const number = { type: 'number' }
const SERVER = { name: 'adder', version: '1.0.0' }
const CAPABILITIES = { tools: {} }
/** Every result says so from 2026-07-28 on, and older clients do not mind. */
const COMPLETE = { resultType: 'complete', _meta: { 'io.modelcontextprotocol/serverInfo': SERVER } }
const CACHING = { ttlMs: 0, cacheScope: 'private' }
const ADD = {
  name: 'add',
  description: 'Adds two numbers.',
  inputSchema: { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] },
  outputSchema: { type: 'object', properties: { sum: number }, required: ['sum'] },
  annotations: { readOnlyHint: true },
}
const OTHERS = Array.from({ length: Number(flags.tools) - 1 }, (_, n) => ({ ...ADD, name: `add_${n}` }))
const TOOLS = [ADD, ...OTHERS]

/** @type {Record<string, (params: Record<string, any>) => object>} */
const METHODS = {
  'tools/call': ({ arguments: { a, b } }) => {
    const output = { sum: a + b }
    return { ...COMPLETE, content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output }
  },
  'tools/list': () => ({ ...COMPLETE, ...CACHING, tools: TOOLS }),
  'server/discover': () => ({
    ...COMPLETE,
    ...CACHING,
    supportedVersions: ['2026-07-28'],
    capabilities: CAPABILITIES,
    serverInfo: SERVER,
  }),
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: CAPABILITIES, serverInfo: SERVER }),
  ping: () => ({}),
}

/** @param {Request} request */
function answerTo({ id, method, params = {} }) {
  const work = METHODS[method]
  const part = work ? { result: work(params) } : { error: { code: -32601, message: `There is no ${method}.` } }
  return JSON.stringify({ jsonrpc: '2.0', id, ...part })
}

function serveStdio() {
  let rest = ''
  process.stdin.setEncoding('utf8').on('data', chunk => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    const requests = lines.map(line => JSON.parse(line)).filter(({ id }) => id !== undefined)
    if (requests.length > 0) process.stdout.write(requests.map(request => `${answerTo(request)}\n`).join(''))
  })
  process.stdin.on('end', () => process.exit(0))
}

function serveHttp() {
  const server = createServer((request, response) => {
    if (request.url === '/ready') return response.end()
    if (request.method !== 'POST') return response.writeHead(405).end()
    /** @type {Buffer[]} */
    const chunks = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const message = JSON.parse(String(Buffer.concat(chunks)))
      if (message.id === undefined) return response.writeHead(202).end()
      const body = answerTo(message)
      const session = message.method === 'initialize' ? { 'mcp-session-id': 'the-only-one' } : {}
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...session }
      response.writeHead(200, headers).end(body)
    })
  })
  server.keepAliveTimeout = 60_000
  server.listen(Number(flags.http), '127.0.0.1', () => {
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }))
  })
}

if (flags.http === undefined) serveStdio()
else serveHttp()
