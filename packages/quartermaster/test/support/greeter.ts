/** A small MCP server on standard input and output, for projects of tests: `node greeter.mjs`. */
export const GREETER = `import { createInterface } from 'node:readline'
const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
const tools = [{ name: 'greet', description: 'Greets someone.', inputSchema: schema, annotations: { readOnlyHint: true } }]
const answers = {
  initialize: () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'greeter', version: '1.0.0' } }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ arguments: { name } }) => ({ content: [{ type: 'text', text: 'Hello, ' + name + '!' }] }),
  ping: () => ({}),
}
process.stderr.write('greeter starts with ' + process.env.GREETER_TOKEN + '\\n')
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]
  const said = answer ? { result: answer(params) } : { error: { code: -32601, message: 'unknown' } }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...said }) + '\\n')
})
`
