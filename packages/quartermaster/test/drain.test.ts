import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { OperationPage } from '../src/contracts/index.ts'
import { createQuartermaster } from '../src/index.ts'
import { makeProject } from './support/product.ts'
import {
  type FixtureOptions,
  onFixture,
  openFixture,
  openProcessFixture,
  textOf,
  type UpstreamFixture,
} from './support/upstream-fixture.ts'

/** Tools that wait for a file after they have said that they run; one calls another tool then. */
const WORK = `
  import { existsSync, writeFileSync } from 'node:fs'
  import { setTimeout as pause } from 'node:timers/promises'
  import { defineCapability, defineTool } from 'quartermaster'
  const near = name => new URL('../' + name, import.meta.url)
  const input = { type: 'object', properties: { text: { type: 'string' } } }
  const released = async () => {
    writeFileSync(near('entered'), '')
    while (!existsSync(near('leave'))) await pause(10)
  }
  export default defineCapability({ key: 'work', short: 'Work.', tools: [
    defineTool({ name: 'look', short: 'x', input, mutates: false, handler: () => 'seen' }),
    defineTool({ name: 'send', short: 'x', input, handler: () => 'sent' }),
    defineTool({ name: 'slow', short: 'x', input, async handler() { await released(); return 'done' } }),
    defineTool({ name: 'outer', short: 'x', input, async handler(_, context) {
      await released()
      return (await context.call('send', {})).content[0].text + ' inside'
    } }),
  ] })
`
const PATIENT = { QUARTERMASTER_DRAIN_SECONDS: '60' }
const project: FixtureOptions = {
  mcpServers: {},
  agents: { default: { capabilities: { work: {}, inbox: {}, files: { dirs: ['.'] } } } },
  settings: { consentWaitSeconds: 60 },
  files: { 'capabilities/work.js': WORK },
  env: PATIENT,
}

const isThere = (at: Pick<UpstreamFixture, 'dir'>, file: string) => () =>
  stat(join(at.dir, file)).then(Boolean, () => false)
const entered = async (at: Pick<UpstreamFixture, 'dir'>) => {
  await expect.poll(isThere(at, 'entered')).toBe(true)
}
const leave = (at: Pick<UpstreamFixture, 'dir'>) => writeFile(join(at.dir, 'leave'), '')
const health = async (at: UpstreamFixture) => (await (await fetch(`${at.up.url}/health`)).json()) as { status: string }
const stopping = async (at: UpstreamFixture) => {
  await expect.poll(() => health(at)).toMatchObject({ status: 'stopping' })
}

async function post(at: UpstreamFixture, token: string, key: string) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { name: 'send', arguments: {}, _meta: { ...meta, 'quartermaster/idempotencyKey': key } }
  return fetch(`${at.up.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'send',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }),
  })
}

describe('a stopping up', () => {
  it('lets a call that runs end and answers it, and refuses new ones so that they can be repeated', async () => {
    const at = await openProcessFixture(project)
    const token = await at.tokenFor('default')
    const client = await at.connect()
    const running = textOf(client, 'slow')
    await entered(at)
    const ended = at.up.stop()
    await stopping(at)
    expect(at.up.stderr()).toContain('1 call that runs may end within 60 s')

    const refused = await post(at, token, 'k1')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await refused.json()).toMatchObject({
      id: 7,
      error: { data: { code: 'STOPPING', kind: 'unavailable', retry: 'later' } },
    })
    const call = { agent: 'default', tool: 'send', idempotencyKey: 'k2' }
    expect(await at.control('call', call)).toMatchObject({ status: 503, code: 'STOPPING', retry: 'later' })

    await leave(at)
    expect(await running).toBe('done')
    expect(await ended).toBe(0)
    const next = await onFixture(at.dir)
    const { operations } = await next.control<OperationPage>('operations')
    expect(operations).toMatchObject([{ tool: 'slow', state: 'succeeded' }])
    expect(await (await post(next, token, 'k1')).json()).toMatchObject({ result: { content: [{ text: 'sent' }] } })
    expect(await next.control('call', call)).toMatchObject({ result: { content: [{ text: 'sent' }] } })
  })

  it('lets a handler that runs call other tools', async () => {
    const at = await openProcessFixture(project)
    const running = textOf(await at.connect(), 'outer')
    await entered(at)
    const ended = at.up.stop()
    await stopping(at)
    await leave(at)
    expect(await running).toBe('sent inside')
    expect(await ended).toBe(0)
  })

  it('ends at once what only waits, with an answer to go on by', async () => {
    const at = await openProcessFixture(project)
    const client = await at.connect()
    const allowed = textOf(client, 'write_file', { path: 'a.txt', content: 'one' })
    const message = textOf(await at.connect('legacy'), 'wait_for_message', { timeout_seconds: 60 })
    await expect.poll(() => at.control('approvals')).toHaveLength(1)
    await expect.poll(() => at.control('status')).toMatchObject({ running: 1 })
    const ended = at.up.stop()
    expect(await allowed).toMatch(/op_/)
    expect(await message).toContain('STOPPING')
    expect(await ended).toBe(0)
  })

  it('cancels what runs longer than it may', async () => {
    const at = await openProcessFixture({ ...project, env: { QUARTERMASTER_DRAIN_SECONDS: '0.05' } })
    const running = textOf(await at.connect(), 'slow')
    await entered(at)
    expect(await at.up.stop()).toBe(0)
    expect(await running).toContain('OUTCOME_UNKNOWN')
  })

  it('stops at once at the second signal', async () => {
    const at = await openProcessFixture(project)
    const running = textOf(await at.connect(), 'slow').catch(() => 'cut off')
    await entered(at)
    const ended = once(at.up.child, 'exit')
    at.up.child.kill('SIGINT')
    await stopping(at)
    // At the same moment it would be the same wish, come by two ways.
    const again = setInterval(() => at.up.child.kill('SIGINT'), 100)
    const [code] = await ended
    clearInterval(again)
    expect([code, await running]).toEqual([130, 'cut off'])
  })
})

describe('a call with an idempotency key', () => {
  it('runs on when the connection of its client is lost, and the repeat gets its result', async () => {
    const at = await openFixture(project)
    const call = { agent: 'default', tool: 'slow', idempotencyKey: 'k1' }
    const gone = new AbortController()
    const token = (await readFile(join(at.dir, '.quartermaster', 'admin-token'), 'utf8')).trim()
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(call), signal: gone.signal }
    const lost = fetch(`${at.up.url}/api/v1/control/call`, init).catch(() => 'lost')
    await entered(at)
    gone.abort()
    expect(await lost).toBe('lost')
    const repeat = at.control('call', call)
    await leave(at)
    expect(await repeat).toMatchObject({ result: { content: [{ text: 'done' }] } })
    expect((await at.control<OperationPage>('operations')).operations).toHaveLength(1)
  })
})

async function openProgram() {
  const dir = await makeProject({
    'capabilities/work.js': WORK,
    'agents/default.json': '{ "capabilities": { "work": {} } }',
  })
  return { dir, program: await createQuartermaster({ dir, env: {} }) }
}

describe('a program that stops', () => {
  it('lets a call that runs end, unless it says otherwise', async () => {
    for (const [drainSeconds, end] of [
      [60, { result: { content: [{ text: 'done' }] } }],
      [0, { code: 'OUTCOME_UNKNOWN' }],
    ] as const) {
      const at = await openProgram()
      const running = at.program.call({ agent: 'default', tool: 'slow' }).catch((error: unknown) => error)
      await entered(at)
      const stopped = at.program.stop({ drainSeconds })
      await expect(at.program.call({ agent: 'default', tool: 'send' })).rejects.toMatchObject({ code: 'STOPPING' })
      if (drainSeconds > 0) await leave(at)
      expect(await running).toMatchObject(end)
      await stopped
    }
  })
})
