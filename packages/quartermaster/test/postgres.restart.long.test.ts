import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { StatusReport } from '../src/contracts/index.ts'
import { hasPostgresBinaries, startPostgres } from '../src/testing/postgres/postgres-server.ts'
import { ask } from '../src/testing/postgres/test-database.ts'
import { createLeanClient } from './support/lean-client.ts'
import { letsIn } from './support/nodes.ts'
import { makeProject, startUp } from './support/product.ts'

/** Its one tool may change something, and answers under which id that is on record. */
const CAPABILITY = `
  import { defineCapability, defineTool } from 'quartermaster'
  const stamp = defineTool({
    name: 'stamp', short: 'Stamps.', input: { type: 'object', properties: {} },
    handler: (_input, { operationId }) => 'stamped as ' + operationId,
  })
  export default defineCapability({ key: 'desk', short: 'A desk.', tools: [stamp] })
`
const POLL = { interval: 20 }
const CALLERS = 4

async function startNode(env: Record<string, string>) {
  const dir = await makeProject({
    'capabilities/desk.js': CAPABILITY,
    'agents/default.json': '{ "capabilities": { "desk": {} } }',
    'agents/bob.json': '{ "capabilities": { "inbox": {}, "memory": {} } }',
  })
  const up = await startUp(dir, [], env)
  const secret = async (file: string) => (await readFile(join(dir, '.quartermaster', file), 'utf8')).trim()
  const admin = await secret('admin-token')
  const control = async <T>(operation: string, input: object = {}): Promise<T> => {
    const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json', connection: 'close' }
    const request = { method: 'POST', headers, body: JSON.stringify(input) }
    return (await fetch(`${up.url}/api/v1/control/${operation}`, request)).json() as Promise<T>
  }
  await expect.poll(async () => JSON.stringify(await control('tools')), POLL).toContain('stamp')
  const { token } = await control<{ token: string }>('createToken', { agent: 'default' })
  return { up, control, token, sealingKey: () => secret('sealing-key') }
}

type Node = Awaited<ReturnType<typeof startNode>>

/** What is said, given away and remembered under a name, and whether all of it is there. */
function keepsakes(bob: string) {
  const ask = async <T>({ up }: Node, token: string, method: string, path: string, body?: object): Promise<T> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' }
    const request = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const answer = await fetch(`${up.url}/api/v1${path}`, request)
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as T
  }
  return {
    async leave(node: Node, name: string): Promise<string> {
      await ask(node, node.token, 'POST', '/messages', { to: 'bob', text: `message ${name}` })
      await ask(node, bob, 'POST', '/memories', { content: `memory ${name}` })
      return (await ask<{ id: string }>(node, node.token, 'POST', '/delegations', { to: 'bob', task: `task ${name}` }))
        .id
    },
    async waiting(node: Node): Promise<readonly string[]> {
      const { messages } = await ask<{ messages: { text: string }[] }>(node, bob, 'GET', '/inbox?limit=50')
      return messages.map(({ text }) => text).toSorted()
    },
    async recalled(node: Node): Promise<readonly string[]> {
      const { memories } = await ask<{ memories: { content: string }[] }>(node, bob, 'GET', '/memories?query=memory')
      return memories.map(({ content }) => content).toSorted()
    },
    /** Bob does a task on one node; its asker is notified on another. */
    async doneBy(node: Node, id: string, at: Node): Promise<unknown> {
      await ask(node, bob, 'POST', `/delegations/${id}/reply`, { message: 'Done.' })
      return ask(at, at.token, 'GET', `/delegations/${id}`)
    },
  }
}

/** Calls again and again, several at a time. */
function keepCalling({ up, token }: Node) {
  const client = createLeanClient(up.url, token)
  const answered: string[] = []
  const over = new AbortController()
  const caller = async () => {
    while (!over.signal.aborted) {
      const id = /stamped as (op_[\w-]+)/.exec(await client.call('stamp', {}))?.[1]
      if (id !== undefined) answered.push(id)
    }
  }
  const callers = Promise.all(Array.from({ length: CALLERS }, caller))
  onTestFinished(() => client.close())
  return {
    answered,
    async end() {
      over.abort()
      await callers
    },
  }
}

describe.runIf(hasPostgresBinaries())('a database that is restarted under load', () => {
  it('takes nothing along that two nodes have answered, and both go on', async () => {
    const server = await startPostgres()
    onTestFinished(() => server.stop())
    const env = { DATABASE_URL: server.url }
    const here = await startNode(env)
    const there = await startNode({ ...env, QUARTERMASTER_SEALING_KEY: await here.sealingKey() })
    const calls = [here, there].map(keepCalling)
    const bothHave = async (count: number) => {
      await expect.poll(() => Math.min(...calls.map(({ answered }) => answered.length)), POLL).toBeGreaterThan(count)
    }
    const most = () => Math.max(...calls.map(({ answered }) => answered.length))
    await bothHave(20)
    const { token: bob } = await here.control<{ token: string }>('createToken', { agent: 'bob' })
    await expect.poll(() => letsIn(there, bob), POLL).toBe(true)
    const { leave, waiting, recalled, doneBy } = keepsakes(bob)
    const one = await leave(here, 'one')
    await server.crash()
    await server.start()
    await bothHave(most() + 20)
    const two = await leave(there, 'two')
    await server.shutDown()
    await server.start()
    await bothHave(most() + 20)
    for (const call of calls) await call.end()

    const done = (await ask(server.url, "select id from operations where state = 'succeeded'")) as { id: string }[]
    const onRecord = new Set(done.map(({ id }) => id))
    expect(calls.flatMap(({ answered }) => answered).filter(id => !onRecord.has(id))).toEqual([])
    expect(await waiting(there)).toEqual(['message one', 'message two', 'task one', 'task two'])
    expect(await recalled(here)).toEqual(['memory one', 'memory two'])
    expect(await doneBy(there, one, here)).toMatchObject({ state: 'completed', result: { text: 'Done.' } })
    expect(await doneBy(here, two, there)).toMatchObject({ state: 'completed', result: { text: 'Done.' } })

    // Operations with unknown outcome have no lease, and neither node takes the other for gone.
    await expect.poll(() => ask(server.url, "select id from operations where state = 'leased'"), POLL).toEqual([])
    for (const { control } of [here, there])
      expect((await control<StatusReport>('status')).store?.nodes).toHaveLength(2)

    // News come through again: a token that is made on one is good on the other at once, and so is its end.
    const { token, facts } = await here.control<{ token: string; facts: { id: string } }>('createToken', {
      agent: 'default',
    })
    const answerAt = async ({ up }: Node) => {
      const client = createLeanClient(up.url, token)
      return client.call('stamp', {}).finally(client.close)
    }
    await expect.poll(() => answerAt(there), POLL).toContain('stamped as')
    await here.control('revokeToken', { id: facts.id })
    await expect.poll(() => answerAt(there), POLL).not.toContain('stamped as')
  })
})
