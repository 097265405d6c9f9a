// @ts-check
// A bridge as people write it by hand with the official SDK: node sdk-bridge.mjs COMMAND [ARG …]. Its client speaks to the program,
// and its server, one for each request as the guides show it, passes on what it is asked. No tokens, no checks of its own, no
// restarts, one era in front.
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { Hono } from 'hono'
import { listen } from '../../gateway/servers/listen.mjs'

const [command = '', ...args] = process.argv.slice(2)
const upstream = new Client({ name: 'sdk-bridge', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
upstream.onclose = () => process.exit(1)
await upstream.connect(new StdioClientTransport({ command, args }))

function createServer() {
  const server = new Server({ name: 'sdk-bridge', version: '1.0.0' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', ({ params }) => upstream.listTools(params))
  server.setRequestHandler('tools/call', ({ params }) =>
    upstream.callTool({ name: params.name, arguments: params.arguments ?? {} }),
  )
  return server
}

const handler = createMcpHandler(createServer)
const app = new Hono()
app.post('/mcp', context => handler.fetch(context.req.raw))
listen(app)

process.on('SIGTERM', async () => {
  upstream.onclose = () => {}
  await upstream.close()
  process.exit(0)
})
