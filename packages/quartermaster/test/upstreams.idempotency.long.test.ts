import { readFile } from 'node:fs/promises'
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { OperationFacts, OperationPage } from '../src/contracts/index.ts'
import { openFixture } from './support/upstream-fixture.ts'

/** Posts letters, and notes each; looks at one without changing anything. */
const POST = `
  import { appendFileSync } from 'node:fs'
  import { defineCapability, defineTool } from 'quartermaster'
  const input = { type: 'object', properties: { to: { type: 'string' } } }
  const post = defineTool({
    name: 'post', short: 'Posts.', input, idempotent: true,
    handler({ to }) {
      appendFileSync(new URL('../posted', import.meta.url), to + '\\n')
      return 'posted to ' + to
    },
  })
  const look = defineTool({ name: 'look', short: 'Looks.', input, mutates: false, handler: ({ to }) => 'saw ' + to })
  export default defineCapability({ key: 'office', short: 'Post.', tools: [post, look] })
`
const BEHIND_DEFAULT = { mcpServers: {}, agents: { default: { capabilities: { office: {} } } } }

interface Passed {
  readonly key: string | string[] | undefined
  readonly meta: Record<string, unknown>
}

/** Passes everything on to an address and notes each call. Of those that it is told to lose, the answer never arrives. */
async function wayTo(url: string) {
  const calls: Passed[] = []
  let toLose = 0
  async function pass(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = await buffer(incoming)
    const isCall = body.includes('"method":"tools/call"')
    if (isCall) calls.push({ key: incoming.headers['idempotency-key'], meta: JSON.parse(String(body)).params._meta })
    const isLost = isCall && toLose-- > 0
    const { method, headers } = incoming
    const onward = forward(new URL(incoming.url ?? '/', url), { method, headers }, async response => {
      if (!isLost) return void response.pipe(answer.writeHead(response.statusCode ?? 500, response.headers))
      await buffer(response)
      incoming.socket.destroy()
    })
    onward.on('error', () => incoming.socket.destroy())
    onward.end(body)
  }
  const server = createServer((incoming, answer) => void pass(incoming, answer))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const lose = (count: number) => {
    toLose = count
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, calls, lose }
}

/** One Quartermaster behind another, and what goes between them. */
async function twoInARow() {
  const behind = await openFixture({ ...BEHIND_DEFAULT, files: { 'capabilities/office.js': POST } })
  const way = await wayTo(behind.up.url)
  const headers = { authorization: `Bearer ${await behind.tokenFor('default')}` }
  const front = await openFixture({ mcpServers: { b: { url: way.url, headers, tools: { post: { consent: [] } } } } })
  await expect.poll(async () => (await front.status('b'))?.tools.offered).toBe(2)
  const posted = async () => (await readFile(join(behind.dir, 'posted'), 'utf8')).trim().split('\n')
  return { front, behind, way, posted, client: await front.connect() }
}

describe('a Quartermaster behind a Quartermaster', () => {
  it('receives the idempotency key of a call, and does it once although its answer was lost and it was sent again', async () => {
    const { front, behind, way, posted, client } = await twoInARow()
    way.lose(1)
    // What a client says of itself goes no further than to whom it says it.
    const _meta = { 'quartermaster/idempotencyKey': 'of-the-client', other: 1 }
    const answer = await client.callTool({ name: 'b_post', arguments: { to: 'eve' }, _meta })
    expect(answer.content).toEqual([{ type: 'text', text: 'posted to eve' }])
    expect(await posted()).toEqual(['eve'])

    const { operations } = await front.control<OperationPage>('operations')
    expect(operations).toMatchObject([{ tool: 'b_post', state: 'succeeded' }])
    const id = operations[0]?.id
    expect(way.calls.map(({ key, meta }) => [key, meta['quartermaster/idempotencyKey'], meta['other']])).toEqual([
      [id, id, undefined],
      [id, id, undefined],
    ])
    const there = await behind.control<OperationPage>('operations')
    expect(there.operations).toHaveLength(1)
    const facts = await behind.control<OperationFacts>('operation', { id: there.operations[0]?.id })
    expect(facts).toMatchObject({ tool: 'post', state: 'succeeded', idempotencyKey: id })

    await client.callTool({ name: 'b_look', arguments: { to: 'eve' }, _meta })
    expect(way.calls[2]?.key).toBeUndefined()
    expect(way.calls[2]?.meta).not.toHaveProperty(['quartermaster/idempotencyKey'])
    expect((await behind.control<OperationPage>('operations')).operations).toHaveLength(1)
  })
})
