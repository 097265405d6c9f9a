import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { DelegationPage, ExternalPeerFacts } from '../src/contracts/index.ts'
import { hasPostgres, testDatabase } from '../src/testing/postgres/test-database.ts'
import { kill, nodesOn } from './support/nodes.ts'

interface Asked {
  readonly method: string
  readonly params: { readonly id?: string; readonly message?: { readonly messageId: string } }
}

/** An A2A agent that does not stream, and works until it is told to be done. */
async function slowAgent() {
  const begun: string[] = []
  let state = 'TASK_STATE_WORKING'
  const answer = async (request: IncomingMessage): Promise<object> => {
    const url = `http://${request.headers.host}/rpc`
    if (request.method === 'GET')
      return { name: 'slow', supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }
    const { method, params } = JSON.parse(await text(request)) as Asked
    const task = (id: string) => ({ id, contextId: 'c', status: { state } })
    if (method !== 'SendMessage') return { result: task(params.id ?? '') }
    const { messageId = '' } = params.message ?? {}
    begun.push(messageId)
    return { result: { task: task(`there-${messageId}`) } }
  }
  const server = createServer((request, response) => {
    void answer(request).then(body => response.end(JSON.stringify(body)))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    begun,
    finish: () => (state = 'TASK_STATE_COMPLETED'),
  }
}

const POLL = { interval: 50 }
const TASKS = 12

describe.runIf(hasPostgres())('two nodes on one database', () => {
  it('send each task of an A2A agent elsewhere once, and one goes on with what the other has left', async () => {
    const agent = await slowAgent()
    const start = nodesOn(await testDatabase())
    const files = {
      'quartermaster.config.json': JSON.stringify({ settings: { leaseSeconds: 2 } }),
      'agents/ada.json': '{ "capabilities": {} }',
    }
    const [here, there] = [await start({ files }), await start({ files })]
    const peer = await here.control<ExternalPeerFacts>('addExternalPeer', { name: 'slow', cardUrl: agent.url })
    expect(await there.control('externalPeers')).toMatchObject([{ id: peer.id, name: 'slow', presence: 'online' }])
    const { token } = await here.control<{ token: string }>('createToken', { agent: 'ada' })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' }
    for (let i = 0; i < TASKS; i++) {
      const body = JSON.stringify({ to: 'slow', task: `task ${i}` })
      const { url } = (i % 2 === 0 ? here : there).up
      expect((await fetch(`${url}/api/v1/delegations`, { method: 'POST', headers, body })).status).toBe(201)
    }
    await expect.poll(() => agent.begun.length, POLL).toBe(TASKS)
    const states = async () => {
      const { delegations } = await there.control<DelegationPage>('delegations', { limit: 50 })
      return [...new Set(delegations.map(({ state }) => state))]
    }
    await expect.poll(states, POLL).toEqual(['in_progress'])
    await kill(here)
    agent.finish()
    await expect.poll(states, POLL).toEqual(['completed'])
    expect(new Set(agent.begun).size).toBe(TASKS)
    expect(agent.begun).toHaveLength(TASKS)
  })
})
