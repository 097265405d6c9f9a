// A small MCP server, beside the project's own tools.
import { createInterface } from 'node:readline'
import { hangOnce, note } from './lib/words.js'

const inputSchema = { type: 'object', properties: { page: { type: 'string' } }, required: ['page'] }
const tools = [
  { name: 'delete_page', description: 'Deletes a page.', inputSchema, annotations: { destructiveHint: true } },
  { name: 'move_page', description: 'Moves a page.', inputSchema, annotations: { destructiveHint: false } },
]
const answers = {
  initialize: () => ({
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'pages', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools }),
  async 'tools/call'({ name, arguments: { page } }) {
    if (name === 'move_page') await hangOnce(`move_page ${page}`)
    note(`${name} ${page}`)
    return { content: [{ type: 'text', text: `done with ${page}` }] }
  },
  ping: () => ({}),
}
createInterface({ input: process.stdin }).on('line', async line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]
  const said = answer ? { result: await answer(params) } : { error: { code: -32601, message: 'unknown' } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...said })}\n`)
})
