import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { makeProject, quartermaster, startProcess } from './support/product.ts'

/** A server whose one tool says that it has begun, and is done when it is told. */
const GATE = `import { existsSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
const tools = [{ name: 'pass', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }]
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
const info = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'gate', version: '1' } }
function pass(id) {
  if (existsSync('open')) say(id, { content: [{ type: 'text', text: 'through' }] })
  else setTimeout(pass, 20, id)
}
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line)
  if (method === 'initialize') say(id, info)
  else if (method === 'tools/list') say(id, { tools })
  else if (method === 'tools/call') writeFileSync('begun', ''), pass(id)
  else if (id !== undefined) say(id, {})
})
`

it('says that the store is locked while another command has it, never that a tool does not exist, and changes nothing', async () => {
  const files = {
    'quartermaster.config.json': JSON.stringify({
      mcpServers: { gate: { command: process.execPath, args: ['gate.mjs'] } },
    }),
    'agents/ada.json': JSON.stringify({ capabilities: { gate: {} } }),
  }
  const dir = await makeProject({ 'gate.mjs': GATE, ...files })
  const run = (...args: string[]) => quartermaster(args, { cwd: dir })
  const call = ['call', 'gate_pass', '--agent', 'ada']
  await run('upstreams', 'restart', 'gate')
  expect((await run('tools', '--json')).stdout).toContain('gate_pass')
  const first = startProcess([...call, '--timeout', '5m'], { cwd: dir })
  onTestFinished(() => void first.kill('SIGKILL'))
  await expect.poll(() => existsSync(join(dir, 'begun'))).toBe(true)
  const edits = [
    ['remove', 'gate'],
    ['add', 'other', '--', process.execPath, 'gate.mjs'],
  ]
  const asked = [call, ['tools'], ['tools', 'gate_pass'], ['agents', 'check', 'ada'], ['prompt', 'ada'], ...edits]
  const answers = await Promise.all(asked.map(async args => ({ args, ...(await run(...args)) })))
  for (const { args, code, stderr } of answers) {
    expect({ args, code, stderr }).toEqual({ args, code: 10, stderr: expect.stringContaining('STORE_LOCKED') })
    expect(stderr).toContain('serves any number of commands at once: quartermaster up')
  }
  for (const [name, text] of Object.entries(files)) expect(await readFile(join(dir, name), 'utf8')).toBe(text)
  expect((await run('status')).stdout).toContain('belongs to another process')
  await writeFile(join(dir, 'open'), '')
  await once(first, 'exit')
  expect(first.exitCode).toBe(0)
  expect((await run(...call)).stdout).toBe('through')
})
