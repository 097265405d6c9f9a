import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeProject, quartermaster, startUpProcess } from './support/product.ts'

const TOOLS = `
  import { AppError, defineCapability, defineTool } from 'quartermaster'
  const tool = (name, handler) =>
    defineTool({ name, short: 'x', input: { type: 'object', properties: { n: { type: 'number' } } }, mutates: false, handler })
  export default defineCapability({ key: 'odd', short: 'Odd.', tools: [
    tool('throws', () => { throw new Error('failed') }),
    tool('refuses', () => { throw new AppError('DEPENDENCY_UNAVAILABLE', 'gone') }),
    tool('logs', (_, { log }) => {
      const token = process.env.LEAKED
      for (const level of ['debug', 'info', 'warn', 'error']) {
        log[level]('sent Authorization: Bearer ' + token, { headers: { authorization: token }, deep: [{ token }] })
      }
      return 'logged'
    }),
    tool('leaks', () => { throw new Error('could not send ' + process.env.LEAKED) }),
  ] })
`

it('no line that up writes in a whole session holds a token, and no error does that was not handed one', async () => {
  const dir = await makeProject({
    'capabilities/odd.js': TOOLS,
    'agents/worker.json': '{ "capabilities": { "odd": {} } }',
  })
  const leaked = `qm_${'L'.repeat(43)}`
  const env = { QUARTERMASTER_LOG_LEVEL: 'debug', LEAKED: leaked }
  const up = await startUpProcess(dir, [], env)
  const made = await quartermaster(['tokens', 'create', 'worker', '--json'], { cwd: dir })
  const { token } = made.json<{ token: string }>()
  const adminToken = (await readFile(join(dir, '.quartermaster', 'admin-token'), 'utf8')).trim()
  const wrong = `qm_${'W'.repeat(43)}`
  const secrets = [token, adminToken, wrong, leaked]

  const answers: string[] = []
  const post = async (path: string, bearer: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(up.url + path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${bearer}`,
        ...headers,
      },
    })
    answers.push(await response.text())
  }
  const call = (bearer: string, name: string, input: object = {}) =>
    post(
      '/mcp',
      bearer,
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name,
          arguments: input,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name },
    )
  for (const bearer of [wrong, adminToken, `${token}x`]) await call(bearer, 'throws')
  for (const name of ['throws', 'refuses', 'logs', 'no_such_tool']) await call(token, name)
  await call(token, 'throws', { n: token })
  await post('/mcp', token, `{"token":"${token}"`)
  await post('/mcp', token, { jsonrpc: '2.0', id: 1, method: token })
  for (const bearer of [wrong, token]) await post('/api/v1/control/status', bearer, {})
  await post('/api/v1/control/call', adminToken, `{"${adminToken}`)
  await post('/api/v1/control/call', adminToken, { agent: 'worker', tool: 'throws', input: { n: token } })
  expect(answers.filter(answer => secrets.some(secret => answer.includes(secret)))).toEqual([])

  // What follows is echoed to who sent it, or is the tool's own answer; it must not be written down either.
  await fetch(`${up.url}/nowhere/${token}?token=${token}`)
  await call(token, 'leaks')
  await post(`/api/v1/control/${token}`, adminToken, {})
  expect(await up.stop()).toBe(0)
  const written = up.stderr()
  const lines = written.trim().split('\n')
  expect(lines.length).toBeGreaterThan(15)
  expect(lines.filter(line => secrets.some(secret => line.includes(secret)))).toEqual([])
  expect(lines.map(line => JSON.parse(line) as object)).toHaveLength(lines.length)
  expect(written).toContain('[redacted]')
})
