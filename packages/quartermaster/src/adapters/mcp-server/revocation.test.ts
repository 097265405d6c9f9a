import { describe, expect, it, onTestFinished } from 'vitest'
import { MOST_WAITING } from '../../core/operations/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { silentLog } from '../system/index.ts'
import { ask, connect, frontOf } from './testing/front.ts'
import { openRawSession } from './testing/raw-session.ts'

const CAN_ANSWER = { elicitation: { form: {} } }

async function open() {
  const ran: string[] = []
  const asked = deferred<AbortSignal>()
  const tools = [
    simpleTool('counts', { mutates: true, handler: () => ran.push('counts') }),
    simpleTool('asks', {
      async handler(_input: never, { ask: askPerson, signal }) {
        asked.resolve(signal)
        return (await askPerson({ message: 'Sure?' })).action
      },
    }),
  ]
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', tools)] } },
    agents: { worker: { capabilities: { main: {} } }, stranger: { capabilities: { main: {} } } },
  })
  return { hub, front: frontOf(hub), ran, asked }
}

/** A request whose body comes only when it is told to. */
function slowRequest(body: object): { request: Request; send(): void } {
  const gate = deferred<void>()
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await gate.promise
      controller.enqueue(new TextEncoder().encode(JSON.stringify(body)))
      controller.close()
    },
  })
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: 'Bearer token-of-worker',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'counts',
  }
  const init = { method: 'POST', headers, body: stream, duplex: 'half' }
  return { request: new Request('http://localhost/mcp', init as RequestInit), send: () => gate.resolve() }
}

/** A call that is still arriving. */
function arrivingCall() {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return slowRequest({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'counts', _meta } })
}

it('does nothing for a request that was still arriving when its agent was taken away, even if another came', async () => {
  const { hub, front, ran } = await open()
  const { request, send } = arrivingCall()
  const answer = front.handle(request)
  await hub.setAgents({ stranger: { capabilities: { main: {} } } })
  await front.endExcept(({ name }) => hub.agents.has(name))
  await hub.setAgents({ worker: { capabilities: { main: {} } } })
  send()
  expect((await answer).status).toBe(401)
  expect(ran).toEqual([])
})

describe('a token that is taken back', () => {
  it.each([
    ['tools/list', 401, 'TOKEN_INVALID'],
    ['tools/call', 403, 'OUTCOME_UNKNOWN'],
    ['tasks/update', 403, 'OUTCOME_UNKNOWN'],
    ['tasks/cancel', 403, 'OUTCOME_UNKNOWN'],
  ])(
    'leaves it open what became of a request only where that may have changed something: %s',
    async (method, status, code) => {
      const { hub } = await open()
      let looks = Number.POSITIVE_INFINITY
      const authenticate = (tokenId: string) =>
        looks-- > 0 ? { tokenId, session: hub.agents.session('worker') } : undefined
      const front = hub.mcp.overHttp({ log: silentLog, authenticate })
      onTestFinished(() => front.close())
      const session = await openRawSession(front, { capabilities: CAN_ANSWER })
      // It is good at the door and when the message has been read, and no more when there is an answer.
      looks = 2
      const response = await session.post({ jsonrpc: '2.0', id: 1, method, params: { name: 'asks' } })
      expect([response.status, await response.json()]).toMatchObject([status, { error: { data: { code } } }])
    },
  )

  it('is no good for a request that was still arriving', async () => {
    const { front, ran } = await open()
    const { request, send } = arrivingCall()
    const answer = front.handle(request)
    await front.revoke('worker')
    send()
    expect((await answer).status).toBe(401)
    expect(ran).toEqual([])
  })

  it.each(['auto', 'legacy'] as const)('ends a call of the era %s that waits for an answer', async era => {
    const { hub, front, asked } = await open()
    const client = await connect(front, 'worker', era, { capabilities: CAN_ANSWER })
    client.setRequestHandler('elicitation/create', () => new Promise(() => {}))
    void client.callTool({ name: 'asks', arguments: {} }).catch(() => {})
    const signal = await asked.promise
    await hub.clock.advance(10)
    await front.revoke('worker')
    await expect.poll(() => signal.aborted).toBe(true)
    await expect.poll(() => hub.operations.running()).toEqual([])
    await client.close()
  })
})

describe('a client from before 2026-07-28', () => {
  it('that cancels while its person is asked ends the call', async () => {
    const { hub, front, asked } = await open()
    const client = await connect(front, 'worker', 'legacy', { capabilities: CAN_ANSWER })
    const question = deferred<void>()
    client.setRequestHandler('elicitation/create', () => {
      question.resolve()
      return new Promise(() => {})
    })
    const stop = new AbortController()
    const call = client.callTool({ name: 'asks', arguments: {} }, { signal: stop.signal }).catch(error => error)
    const signal = await asked.promise
    await question.promise
    stop.abort()
    await expect.poll(() => signal.aborted).toBe(true)
    await expect.poll(() => hub.operations.running()).toEqual([])
    await call
  })

  it('keeps a session on whose stream it listens, however silent it is', async () => {
    const { hub, front } = await open()
    const client = await connect(front, 'worker', 'legacy')
    await expect.poll(() => front.counts().streams).toBe(1)
    await hub.clock.advance(3 * 3_600_000)
    expect(front.counts().sessions).toBe(1)
    expect((await client.listTools()).tools).toHaveLength(2)
  })
})

it('lets one agent leave only so many questions open, and no other agent feels it', async () => {
  const { front } = await open()
  const call = (agent: string, number: number) =>
    ask(front, agent, {
      method: 'tools/call',
      name: 'asks',
      params: { name: 'asks', arguments: { number } },
      capabilities: CAN_ANSWER,
    })
  const open100 = await Promise.all(Array.from({ length: MOST_WAITING }, (_, number) => call('worker', number)))
  expect(open100.every(({ result }) => result?.resultType === 'input_required')).toBe(true)
  expect((await call('worker', MOST_WAITING)).result).toMatchObject({
    structuredContent: { error: { code: 'RATE_LIMITED' } },
  })
  expect((await call('stranger', 0)).result).toMatchObject({ resultType: 'input_required' })
})

it('forgets what a stream watches with the stream, and never what another one does', async () => {
  const { hub, front } = await open()
  const junk = Array.from({ length: 1_000 }, (_, index) => `docs://junk/${index}`)
  const listen = (uris: string[], accepted = true) =>
    front.handle(
      new Request('http://localhost/mcp', {
        method: 'POST',
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'subscriptions/listen',
          params: {
            notifications: { resourceSubscriptions: uris },
            _meta: {
              'io.modelcontextprotocol/protocolVersion': '2026-07-28',
              'io.modelcontextprotocol/clientCapabilities': {},
            },
          },
        }),
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: 'Bearer token-of-worker',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': accepted ? 'subscriptions/listen' : 'tools/list',
        },
      }),
    )
  expect((await listen(junk, false)).status).toBe(400)
  const stream = await listen(['quartermaster://tools/counts'])
  hub.write('main.ts', {
    capabilities: [simpleCapability('main', [simpleTool('counts', { short: 'Counts otherwise.' })])],
  })
  await hub.catalogue.reload()
  await hub.clock.advance(10)
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  onTestFinished(() => reader?.cancel())
  let text = ''
  while (!text.includes('resources/updated')) text += (await reader?.read())?.value ?? ''
  expect(text).toContain('quartermaster://tools/counts')
})
