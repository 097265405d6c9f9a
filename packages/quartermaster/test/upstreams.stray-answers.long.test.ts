import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { httpEndpoint, type Visit } from '../src/adapters/mcp-upstream/testing/http-endpoint.ts'
import { answerLegacy } from '../src/adapters/mcp-upstream/testing/legacy-answers.ts'
import type { UpstreamLogLine } from '../src/contracts/index.ts'
import { definition } from './support/listing-fixture.ts'
import { ILL_SERVER, openFixture, program, textOf, type UpstreamFixture } from './support/upstream-fixture.ts'

const AT_ONCE = 20

/** Three times as many calls as the server waits for, each with a text of its own. */
async function expectOwnAnswers(fixture: UpstreamFixture, client: Client): Promise<void> {
  for (const round of [1, 2, 3]) {
    const texts = Array.from({ length: AT_ONCE }, (_, index) => `${round}.${index}`)
    expect(await Promise.all(texts.map(text => textOf(client, 'desk_echo', { text })))).toEqual(texts)
  }
  expect(await fixture.status('desk')).toMatchObject({ state: 'up', restarts: 0 })
}

describe('answers that are late, double or to nothing', () => {
  it('go nowhere: every call of a program has its own answer', async () => {
    const fixture = await openFixture({
      mcpServers: { desk: { ...program(ILL_SERVER, `--gather=${AT_ONCE}`), era: 'legacy' } },
    })
    await expect.poll(async () => (await fixture.status('desk'))?.state).toBe('up')
    const client = await fixture.connect()
    const controller = new AbortController()
    const late = client.callTool({ name: 'desk_echo', arguments: { text: 'late' } }, { signal: controller.signal })
    const said = async () => {
      const lines = await fixture.control<UpstreamLogLine[]>('upstreamLogs', { name: 'desk' })
      return lines.map(line => line.text)
    }
    await expect.poll(said).toContain('gathered 1')
    controller.abort()
    await expect(late).rejects.toThrow()
    await expect.poll(said).toContain('cancelled')
    await expectOwnAnswers(fixture, client)
  })

  it('go nowhere: every call by HTTP has its own answer', async () => {
    const server = await httpEndpoint(gathering())
    const fixture = await openFixture({ mcpServers: { desk: { url: server.url, era: 'legacy' } } })
    await expect.poll(async () => (await fixture.status('desk'))?.state).toBe('up')
    await expectOwnAnswers(fixture, await fixture.connect())
  })
})

/** Answers calls when there are enough of them, and before and after each, in the same stream, all the others and nothing. */
function gathering() {
  const gathered: Visit[] = []
  const ids: unknown[] = [987_654_321]
  return (visit: Visit) => {
    if (visit.body['method'] !== 'tools/call')
      return answerLegacy(visit, { 'tools/list': () => ({ tools: [definition('echo')] }) })
    ids.push(visit.body['id'])
    gathered.push(visit)
    if (gathered.length < AT_ONCE) return
    for (const one of gathered.splice(0).toReversed()) answerAmongStrays(one, ids)
  }
}

function answerAmongStrays(visit: Visit, ids: readonly unknown[]): void {
  const write = visit.events()
  const say = (id: unknown, text: unknown) => {
    const result = { content: [{ type: 'text', text }] }
    write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
  }
  const { id, params } = visit.body as { id: unknown; params: { arguments: { text: string } } }
  for (const other of ids) if (other !== id) say(other, 'not yours')
  say(id, params.arguments.text)
  for (const any of ids) say(any, 'not yours')
  visit.response.end()
}
