import { expect, it } from 'vitest'
import { httpEndpoint, type Visit } from '../src/adapters/mcp-upstream/testing/http-endpoint.ts'
import { answerLegacy } from '../src/adapters/mcp-upstream/testing/legacy-answers.ts'
import { openFixture } from './support/upstream-fixture.ts'

const READ = {
  name: 'read',
  description: 'Reads a letter.',
  inputSchema: { type: 'object', properties: {} },
  annotations: { readOnlyHint: true },
}
const DONE = { content: [{ type: 'text', text: 'done' }] }

/** A server that lists its tool and answers pings, and does with calls what a test wants. */
async function office(fail: (visit: Visit) => unknown) {
  let isFixed = false
  const server = await httpEndpoint(visit => {
    if (visit.body['method'] === 'tools/call' && !isFixed) return void fail(visit)
    answerLegacy(visit, { 'tools/list': () => ({ tools: [READ] }), 'tools/call': () => DONE })
  })
  const fixture = await openFixture({ mcpServers: { office: { url: server.url, timeoutMs: 1_000 } } })
  await expect.poll(async () => (await fixture.status('office'))?.tools.offered).toBe(1)
  const client = await fixture.connect()
  return {
    fixture,
    call: () => client.callTool({ name: 'office_read', arguments: {} }),
    fix() {
      isFixed = true
    },
  }
}

it.each<[string, (visit: Visit) => unknown, RegExp]>([
  ['errors', visit => visit.json(500), /HTTP 500\.$/],
  [
    'the answer to something else',
    visit => visit.json(200, { jsonrpc: '2.0', id: 424_242, result: DONE }),
    /The server answered something that is no answer to the request\.$/,
  ],
  ['nothing', () => {}, /It did not answer in time\.$/],
])('an upstream that answers every call with %s is told of until one succeeds', async (_, fail, why) => {
  const { fixture, call, fix } = await office(fail)
  for (const _time of [1, 2]) expect(await call()).toMatchObject({ isError: true })
  const message = expect.stringMatching(
    /^It answers, but its last 2 requests failed, the last of them the tool "read": /,
  )
  const lastError = { message, isStanding: true }
  await expect.poll(() => fixture.status('office')).toMatchObject({ state: 'up', lastError })
  const told = (await fixture.status('office'))?.lastError?.message ?? ''
  expect(told).toMatch(why)
  expect((await fixture.run('upstreams')).stdout).toContain(told)
  expect((await fixture.run('upstreams', 'show', 'office')).stdout).toMatch(/Last error +It answers, but its last 2 /)
  expect((await fixture.run('doctor')).stdout).toContain(`Upstream "office" is up, but not for everything: ${told}`)
  expect((await fixture.run('logs', 'office')).stdout).toContain('It answers, but the tool "read" failed: ')
  fix()
  expect(await call()).toMatchObject(DONE)
  expect((await fixture.status('office'))?.lastError).toBeUndefined()
})
