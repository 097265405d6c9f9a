import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TaskState } from '@a2a-js/sdk'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { DelegationDetail } from '../../packages/quartermaster/src/contracts/index.ts'
import { type RunningProduct, startWithAgents } from '../support/running-product.ts'
import { type A2aAgent, type AgentOptions, type Binding, startAgent } from './a2a-agent.ts'

interface Waiting {
  readonly activityId: string
  readonly kind: string
  readonly text: string
  readonly taskId: string
}

const PATIENCE = { timeout: 300_000, interval: 50 }

let product: RunningProduct
let ada: string

beforeAll(async () => {
  product = await startWithAgents(['ada'], { delegation: {}, inbox: {} })
  ada = (await product.issue('ada')).token
})
afterAll(() => product?.stop())

async function asAda<T>(method: string, path: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${ada}`, 'content-type': 'application/json', connection: 'close' }
  const sent = body && { body: JSON.stringify(body) }
  const answer = await fetch(`${product.url}/api/v1${path}`, { method, headers, ...sent })
  return (await answer.json()) as T
}

let count = 0

/** An agent of the SDK that is a peer here, under a name of its own. */
async function peerOf(options: AgentOptions & { readonly secret?: string; readonly header?: string } = {}) {
  const { secret, header, ...own } = options
  const agent = await startAgent(own)
  onTestFinished(() => agent.stop())
  const name = `painter${count++}`
  await product.control.addExternalPeer({
    name,
    cardUrl: agent.url,
    ...(secret !== undefined && { secret }),
    ...(header !== undefined && { header }),
  })
  return { agent, name }
}

const give = (to: string, task: string, more: object = {}) =>
  asAda<DelegationDetail>('POST', '/delegations', { to, task, ...more })
const show = (id: string) => asAda<DelegationDetail>('GET', `/delegations/${id}`)
const endOf = (id: string) => asAda<DelegationDetail>('GET', `/delegations/${id}?waitSeconds=60`)

/** What stands in the inbox about a task. */
async function heardOf({ id }: { readonly id: string }): Promise<Waiting> {
  return vi.waitFor(async () => {
    const { messages } = await asAda<{ messages: Waiting[] }>('GET', '/inbox?limit=100')
    const found = messages.find(({ taskId, kind }) => taskId === id && kind === 'peer_agent')
    if (!found) throw new Error('nothing yet')
    return found
  }, PATIENCE)
}

const reaches = (id: string, state: string) =>
  vi.waitFor(async () => expect(await show(id)).toMatchObject({ state }), PATIENCE)

const WAYS = (['JSONRPC', 'HTTP+JSON'] as const).flatMap(binding =>
  [true, false].map(streaming => [binding, streaming ? 'told in a stream' : 'asked', streaming] as const),
)

describe.each(WAYS)('an agent of the official SDK over %s, %s', (binding: Binding, _how, streaming) => {
  const own = { bindings: [binding], streaming }

  it('does a task, and its result is here whole', async () => {
    const { name } = await peerOf(own)
    const { id, to } = await give(name, 'a green tree')
    const done = await endOf(id)
    expect(to.presence).toBe('online')
    expect(done).toMatchObject({
      state: 'completed',
      result: {
        text: expect.stringContaining('A painting of a green tree'),
        parts: [{ kind: 'data', data: { strokes: 7 } }],
        attachments: [{ name: 'tree.txt', mediaType: 'text/plain', size: 6 }],
      },
    })
    expect(done.result?.text).toContain('"tree.png": https://example.com/tree.png')
  })

  it('asks, and is answered', async () => {
    const { agent, name } = await peerOf(own)
    const { id } = await give(name, 'ask me first')
    const question = await heardOf({ id })
    expect(question.text).toBe('Which colour?')
    await asAda('POST', `/inbox/${question.activityId}/reply`, { text: 'Green.' })
    expect(await endOf(id)).toMatchObject({ state: 'completed', result: { text: expect.stringContaining('Green.') } })
    expect(agent.begun).toHaveLength(2)
  })

  it.each([
    ['fail', 'No paint.'],
    ['reject', 'The agent rejected the task: Not mine.'],
    ['login', 'Who are you? The owner can give'],
  ])('may %s, and the reason is told', async (word, error) => {
    const { name } = await peerOf(own)
    const { id } = await give(name, `${word} please`)
    expect(await endOf(id)).toMatchObject({ state: 'failed', error: expect.stringContaining(error) })
  })

  it('may answer with words alone', async () => {
    const { name } = await peerOf(own)
    const { id } = await give(name, 'words please')
    expect(await endOf(id)).toMatchObject({ state: 'completed', result: { text: 'Just words.' } })
  })

  it('is told that nobody wants the task any more', async () => {
    const { agent, name } = await peerOf(own)
    const { id } = await give(name, 'wait for me')
    await reaches(id, 'in_progress')
    await asAda('POST', `/delegations/${id}/cancel`)
    await vi.waitFor(() => expect(statesIn(agent)).toEqual(['TASK_STATE_CANCELED']), PATIENCE)
    const expiring = await give(name, 'wait again', { deadlineSeconds: 2 })
    expect(await endOf(expiring.id)).toMatchObject({ state: 'expired' })
    await vi.waitFor(() => expect(statesIn(agent)).toEqual(['TASK_STATE_CANCELED', 'TASK_STATE_CANCELED']), PATIENCE)
  })

  it('goes on after we were killed in the middle, and is given nothing twice', async () => {
    const { agent, name } = await peerOf(own)
    const { id } = await give(name, 'wait for me')
    await reaches(id, 'in_progress')
    await vi.waitFor(() => expect(agent.begun).toHaveLength(1), PATIENCE)
    await product.kill()
    agent.goOn()
    await product.again()
    expect(await endOf(id)).toMatchObject({ state: 'completed' })
    expect(agent.begun).toHaveLength(1)
  })

  it('goes on after it was away itself, and is not believed to remember what it does not', async () => {
    const { agent, name } = await peerOf(own)
    const { id } = await give(name, 'wait for me')
    await reaches(id, 'in_progress')
    await agent.stop()
    const later = await give(name, 'a red tree')
    for (const task of agent.memory.values()) if (task.status) task.status.state = TaskState.TASK_STATE_COMPLETED
    const back = await startAgent({ ...own, port: agent.port, memory: agent.memory })
    expect(await endOf(later.id)).toMatchObject({ state: 'completed' })
    expect(await endOf(id)).toMatchObject({ state: 'completed' })
    const lost = await give(name, 'wait for me')
    await reaches(lost.id, 'in_progress')
    await back.stop()
    const other = await startAgent({ ...own, port: agent.port })
    onTestFinished(() => other.stop())
    expect(await endOf(lost.id)).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('no longer knows the task'),
    })
  })
})

describe('an agent of the official SDK that wants a key', () => {
  it('is given it in the header that it wants, and only where it is known', async () => {
    const file = join(product.folder, '.quartermaster', 'secrets.json')
    await writeFile(file, JSON.stringify({ PAINTER: 'hunter2-hunter2' }), { mode: 0o600 })
    await product.control.reload({})
    const key = { header: 'x-api-key', value: 'hunter2-hunter2' }
    await expect(peerOf({ key })).rejects.toMatchObject({
      message: expect.stringMatching(/rejects our credentials.*secret/),
    })
    await expect(peerOf({ key, secret: 'PAINTER' })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    const { name } = await peerOf({ key, secret: 'PAINTER', header: 'X-Api-Key' })
    const { id } = await give(name, 'a tree')
    expect(await endOf(id)).toMatchObject({ state: 'completed' })
    const bearer = await peerOf({
      key: { header: 'authorization', value: 'Bearer hunter2-hunter2' },
      secret: 'PAINTER',
    })
    const again = await give(bearer.name, 'a tree')
    expect(await endOf(again.id)).toMatchObject({ state: 'completed' })
    await writeFile(file, JSON.stringify({ PAINTER: 'wrong' }))
    await product.control.reload({})
    const refused = await give(name, 'a tree')
    expect(await endOf(refused.id)).toMatchObject({
      state: 'failed',
      error: expect.stringMatching(/rejects our credentials.*owner/),
    })
  })
})

describe('an agent of the official SDK', () => {
  it('is shown to agents as a peer, by words that hide nothing, and gets tasks by their tools', async () => {
    const { name } = await peerOf()
    const client = new Client({ name: 'test', version: '1' })
    const requestInit = { headers: { authorization: `Bearer ${ada}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(product.mcpUrl), { requestInit }))
    onTestFinished(() => client.close())
    const { structuredContent: listed } = await client.callTool({ name: 'list_peers', arguments: {} })
    const { peers } = listed as { peers: { workspace_id: string; name: string; description: string; status: string }[] }
    const painter = peers.find(one => one.name === name)
    expect(painter).toMatchObject({ description: 'Paints what it is told.', status: 'online' })
    const { structuredContent: done } = await client.callTool({
      name: 'delegate_task',
      arguments: { workspace_id: painter?.workspace_id, task: 'a blue tree' },
    })
    expect(done).toMatchObject({ status: 'completed', result: expect.stringContaining('a blue tree') })
  })

  it('is not there for another organisation', async () => {
    const { name } = await peerOf()
    await product.control.createOrganisation({ name: 'acme' })
    expect(await product.control.externalPeers({ organisation: 'acme' })).toEqual([])
    await expect(product.control.externalPeer({ id: name, organisation: 'acme' })).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
    })
  })
})

function statesIn({ memory }: A2aAgent): (string | undefined)[] {
  return [...memory.values()].map(({ status }) => status && TaskState[status.state])
}
