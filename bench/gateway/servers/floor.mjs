// @ts-check
// The least an HTTP server on this stack can do: parse JSON, add, answer JSON. It knows nothing of MCP.
import { Hono } from 'hono'
import { listen } from './listen.mjs'

const app = new Hono()
app.post('/mcp', async context => {
  const { id, params } = await context.req.json()
  const output = { sum: params.arguments.a + params.arguments.b }
  const content = [{ type: 'text', text: JSON.stringify(output) }]
  return context.json({ jsonrpc: '2.0', id, result: { content, structuredContent: output } })
})

listen(app)
