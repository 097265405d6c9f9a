// @ts-check
// The same tools served by the SDK alone, as its guides show it: a server per request, or one per session. No tokens, no
// checks of its own. Schemas are made once, which is the better of the two ways the guides have.
import { randomUUID } from 'node:crypto'
import { createMcpHandler, McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { Hono } from 'hono'
import { listen } from './listen.mjs'
import { registerTools } from './sdk-tools.mjs'

const register = registerTools(process.argv[2])

function createServer() {
  const server = new McpServer({ name: 'sdk-alone', version: '1.0.0' })
  register(server)
  return server
}

const modern = createMcpHandler(createServer)

/** @type {Map<string, WebStandardStreamableHTTPServerTransport>} */
const sessions = new Map()

async function openSession() {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: id => void sessions.set(id, transport),
  })
  await createServer().connect(transport)
  return transport
}

const app = new Hono()
app.post('/mcp', context => modern.fetch(context.req.raw))
app.post('/sessions', async context => {
  const known = sessions.get(context.req.header('mcp-session-id') ?? '')
  return (known ?? (await openSession())).handleRequest(context.req.raw)
})

listen(app)
