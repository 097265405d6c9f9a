import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { pidsIn } from '../src/adapters/mcp-upstream/testing/child-fixture.ts'
import { httpEndpoint } from '../src/adapters/mcp-upstream/testing/http-endpoint.ts'
import { answerLegacy } from '../src/adapters/mcp-upstream/testing/legacy-answers.ts'
import { freshFolder } from '../src/testing/store-contract/stage.ts'
import {
  ILL_SERVER,
  onFixture,
  openFixture,
  program,
  textOf,
  type UpstreamFixture,
} from './support/upstream-fixture.ts'

const GREETINGS = new Set(['initialize', 'server/discover'])

async function isUp(fixture: UpstreamFixture): Promise<void> {
  await expect.poll(async () => (await fixture.status('desk'))?.tools.offered).toBeGreaterThan(0)
}

describe('a program that falls over when it is asked in the newer era', () => {
  it('is asked so once, and neither when it is started again nor by the next up', async () => {
    const file = join(await freshFolder(), 'pids')
    const server = program(ILL_SERVER, '--dies-on-unknown', `--pids=${file}`)
    const fixture = await openFixture({ mcpServers: { desk: server } })
    await isUp(fixture)
    const [fallen, running = 0, ...more] = await pidsIn(file)
    expect([typeof fallen, more]).toEqual(['number', []])
    process.kill(running, 'SIGKILL')
    const client = await fixture.connect()
    expect(await textOf(client, 'desk_echo', { text: 'back' })).toBe('back')
    expect(await pidsIn(file)).toHaveLength(3)
    await client.close()
    await fixture.up.stop()

    const next = await (await onFixture(fixture.dir)).connect()
    await expect.poll(() => textOf(next, 'desk_echo', { text: 'again' })).toBe('again')
    expect(await pidsIn(file)).toHaveLength(4)
  })
})

describe('a server by HTTP that is met for many calls at a time', () => {
  const ABOUT = { capabilities: { tools: {} }, serverInfo: { name: 'tracker', version: '1' } }
  const MODERN = { 'server/discover': () => ({ supportedVersions: ['2026-07-28'], ...ABOUT }) }

  it.each([
    ['legacy', {}, 'initialize'],
    ['modern', MODERN, 'server/discover'],
  ])('is asked once what it is, and in its own era (%s)', async (_, answers, greeting) => {
    const server = await httpEndpoint(visit => answerLegacy(visit, answers))
    const first = await openFixture({ mcpServers: { desk: { url: server.url, start: 'lazy' } } })
    await isUp(first)
    await first.up.stop()

    const fixture = await onFixture(first.dir)
    const clients = await Promise.all([fixture.connect(), fixture.connect(), fixture.connect('legacy')])
    expect(await fixture.status('desk')).toMatchObject({ state: 'idle' })
    server.visits.length = 0
    const calls = clients.flatMap(client => Array.from({ length: 10 }, () => textOf(client, 'desk_count')))
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['3 issues']))
    const asked = server.visits.map(({ body }) => String(body['method']))
    expect(asked.filter(method => method === 'tools/call')).toHaveLength(30)
    // Who was greeted is asked what it has. In the newer era the greeting is also how a slow one is asked whether it is there.
    expect(asked.filter(method => method === 'tools/list')).toHaveLength(1)
    expect(new Set(asked.filter(method => GREETINGS.has(method)))).toEqual(new Set([greeting]))
  })
})

describe('a server that has tools and does not list them', () => {
  it('is said to be one from the first time on, with its reason, until it lists them', async () => {
    let isBroken = true
    const server = await httpEndpoint(visit => {
      if (!isBroken || visit.body['method'] !== 'tools/list') return answerLegacy(visit, {})
      const error = { code: -32_603, message: 'The table of tools is locked.' }
      return visit.json(200, { jsonrpc: '2.0', id: visit.body['id'], error })
    })
    const fixture = await openFixture({ mcpServers: { desk: { url: server.url, era: 'legacy' } } })
    await expect.poll(async () => (await fixture.status('desk'))?.unlisted).toEqual(['tools'])
    const told = '"desk" does not list its tools. None of them is used until it does.'
    expect((await fixture.run('doctor')).stdout).toContain(told)
    expect((await fixture.run('logs', 'desk')).stdout).toContain(
      'It does not list its tools: The table of tools is locked.',
    )

    isBroken = false
    expect(await fixture.run('upstreams', 'restart', 'desk')).toMatchObject({ code: 0 })
    await isUp(fixture)
    expect(await fixture.status('desk')).not.toHaveProperty('unlisted')
    expect((await fixture.run('doctor')).stdout).not.toContain('does not list its tools')
  })
})
