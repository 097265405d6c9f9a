import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it, vi } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { whileAdvancing } from '../../testing/fake-clock.ts'
import { createHub, type Hub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { ask, connect, ERAS, frontOf, type TestFront } from './testing/front.ts'

const HOUR_MS = 3_600_000
const OWNER = { name: 'the owner', via: 'owner' } as const
const ONCE = { decision: 'allow', lasting: 'once' } as const
const NO = { decision: 'deny', lasting: 'once' } as const
const ELICITATION = { elicitation: { form: {} } }

const PAYING = [{ name: 'ledger.pay', reason: 'It pays.', weight: 'moderate' as const }]

/** A tool that a person has to allow. The word of the trusted agent's client counts, that of the strict one's does not. */
async function open() {
  const runs: unknown[] = []
  const pay = simpleTool('pay', {
    mutates: true,
    consent: ['ledger.pay'],
    handler: input => (runs.push(input), 'paid'),
  })
  const consentOperations = PAYING
  const capabilities = { main: {} }
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', [pay], { consentOperations })] } },
    agents: { strict: { capabilities }, trusted: { capabilities, consent: { allow: [], askClient: true } } },
    tellEnd: (operation, caller) => hub.mcp.notifyEnded(operation, caller),
  })
  hub.work()
  return { hub, runs, front: frontOf(hub, {}) }
}

const call = (client: Client) => client.callTool({ name: 'pay', arguments: { to: 'eve' } })

/** The id of the one call that waits, once it does. */
async function waiting({ consentServices }: Hub): Promise<string> {
  const first = await vi.waitUntil(async () => (await consentServices('default').open())[0], { timeout: 300_000 })
  return first.id
}

/** How an operation stands, as the client reads it. */
async function statusOf(client: Client, id: string): Promise<unknown> {
  const { contents } = await client.readResource({ uri: `quartermaster://operations/${id}` })
  return JSON.parse((contents[0] as { text: string }).text)
}

/** A client whose person is asked and answers when the test says so. */
async function slowClient(front: TestFront, era: (typeof ERAS)[number]) {
  const client = await connect(front, 'trusted', era, { capabilities: ELICITATION })
  const [asked, late] = [deferred<void>(), deferred<{ action: 'accept'; content: { allow: boolean } }>()]
  client.setRequestHandler('elicitation/create', () => {
    asked.resolve()
    return late.promise
  })
  return { client, asked, late }
}

describe.each(ERAS)('a client of the era %s whose call a person has to allow', era => {
  it.each([
    ['allowed', ONCE, { content: [{ type: 'text', text: 'paid' }] }, 1],
    ['denied', NO, { isError: true, _meta: { 'quartermaster/error': { code: 'CONSENT_DENIED' } } }, 0],
  ] as const)('is answered when it is %s in time', async (_what, answer, expected, times) => {
    const { hub, front, runs } = await open()
    const answered = call(await connect(front, 'strict', era))
    await hub.consentServices('default').answer(await waiting(hub), answer, OWNER)
    expect(await answered).toMatchObject(expected)
    expect(runs).toHaveLength(times)
  })

  it('is told that it has run out when nobody answers, and a late answer changes nothing', async () => {
    const { hub, front, runs } = await open()
    const client = await connect(front, 'strict', era)
    const { _meta } = await whileAdvancing(hub.clock, call(client))
    const id = String(_meta?.['quartermaster/operationId'])
    expect(await statusOf(client, id)).toMatchObject({ state: 'waitingForApproval' })
    await hub.clock.advance(25 * HOUR_MS)
    expect(await statusOf(client, id)).toMatchObject({ state: 'expired', error: { code: expect.any(String) } })
    await expect(hub.consentServices('default').answer(id, ONCE, OWNER)).rejects.toMatchObject({
      code: 'REQUEST_REFUSED',
    })
    expect([await statusOf(client, id), runs]).toMatchObject([{ state: 'expired' }, []])
  })

  it.each([
    ['takes its call back', (_front: TestFront, stop: AbortController) => stop.abort()],
    ['loses its token', (front: TestFront) => front.revoke('strict')],
  ])('that %s has nothing done that somebody allows later', async (_what, leave) => {
    const { hub, front, runs } = await open()
    const client = await connect(front, 'strict', era)
    const stop = new AbortController()
    client.callTool({ name: 'pay', arguments: {} }, { signal: stop.signal }).catch(() => {})
    const id = await waiting(hub)
    await leave(front, stop)
    await vi.waitUntil(async () => (await hub.consentServices('default').open()).length === 0, { timeout: 300_000 })
    expect((await hub.operations.find('default', id)).state).toBe('cancelled')
    await expect(hub.consentServices('default').answer(id, ONCE, OWNER)).rejects.toMatchObject({
      code: 'REQUEST_REFUSED',
    })
    await hub.clock.advance(60_000)
    expect(runs).toEqual([])
  })

  it('that says yes after a person has said no hears the no', async () => {
    const { hub, front, runs } = await open()
    const { client, asked, late } = await slowClient(front, era)
    const answered = call(client)
    await asked.promise
    await hub.consentServices('default').answer(await waiting(hub), NO, OWNER)
    late.resolve({ action: 'accept', content: { allow: true } })
    expect(await answered).toMatchObject({ _meta: { 'quartermaster/error': { code: 'CONSENT_DENIED' } } })
    expect(runs).toEqual([])
  })

  it('that takes its call back while it is asked itself has nothing done', async () => {
    const { hub, front, runs } = await open()
    const { client, asked, late } = await slowClient(front, era)
    const stop = new AbortController()
    const answered = client.callTool({ name: 'pay', arguments: {} }, { signal: stop.signal }).catch(() => {})
    await asked.promise
    const id = await waiting(hub)
    stop.abort()
    late.resolve({ action: 'accept', content: { allow: true } })
    await answered
    // From 2026-07-28 on nobody hears that a client has given up a call between two requests: it is as if its person thought.
    if (era === 'legacy')
      await vi.waitUntil(async () => (await hub.consentServices('default').open()).length === 0, { timeout: 300_000 })
    await hub.clock.advance(60_000)
    expect((await hub.operations.find('default', id)).state).toBe(era === 'legacy' ? 'cancelled' : 'waitingForApproval')
    expect(runs).toEqual([])
  })

  it('is asked itself where that counts, and goes on waiting for a person when it does not decide', async () => {
    const { hub, front, runs } = await open()
    const client = await connect(front, 'trusted', era, { capabilities: ELICITATION })
    const asked = deferred<void>()
    client.setRequestHandler('elicitation/create', async () => {
      asked.resolve()
      return { action: 'cancel' }
    })
    const answered = call(client)
    await asked.promise
    await hub.consentServices('default').answer(await waiting(hub), NO, OWNER)
    expect(await answered).toMatchObject({ _meta: { 'quartermaster/error': { code: 'CONSENT_DENIED' } } })
    expect(runs).toEqual([])
  })
})

describe('equal calls of one agent that wait', () => {
  const keyed = (client: Client, key: string) =>
    client.callTool({ name: 'pay', arguments: { to: 'eve' }, _meta: { 'quartermaster/idempotencyKey': key } })

  it.each([
    ['allowed', ONCE, { content: [{ type: 'text', text: 'paid' }] }, 2],
    ['denied', NO, { _meta: { 'quartermaster/error': { code: 'CONSENT_DENIED' } } }, 0],
  ] as const)('are one question, and all of them are %s by one answer', async (_what, answer, expected, times) => {
    const { hub, front, runs } = await open()
    const [first, second] = [await connect(front, 'strict', 'auto'), await connect(front, 'strict', 'legacy')]
    const { open: listed, answer: say } = hub.consentServices('default')
    const questions: string[] = []
    hub.emitter.on('approval.opened', ({ id }) => questions.push(id))
    const calls = [keyed(first, 'k1'), keyed(second, 'k2')]
    await vi.waitUntil(async () => (await listed())[0]?.calls === 2, { timeout: 300_000 })
    expect(await listed()).toHaveLength(1)
    expect(questions).toHaveLength(1)
    await say(await waiting(hub), answer, OWNER)
    for (const called of calls) expect(await called).toMatchObject(expected)
    expect([await listed(), runs.length]).toEqual([[], times])
  })

  it('are still one question when one of them is taken back', async () => {
    const { hub, front, runs } = await open()
    const client = await connect(front, 'strict', 'legacy')
    const stop = new AbortController()
    client.callTool({ name: 'pay', arguments: { to: 'eve' } }, { signal: stop.signal }).catch(() => {})
    const id = await waiting(hub)
    const answered = call(client)
    const { open: listed, answer: say } = hub.consentServices('default')
    await vi.waitUntil(async () => (await listed())[0]?.calls === 2, { timeout: 300_000 })
    stop.abort()
    await vi.waitUntil(async () => (await listed())[0]?.id !== id, { timeout: 300_000 })
    await say(await waiting(hub), ONCE, OWNER)
    expect(await answered).toMatchObject({ content: [{ type: 'text', text: 'paid' }] })
    expect(runs).toHaveLength(1)
  })

  it('of other arguments or another agent are questions of their own', async () => {
    const { hub, front } = await open()
    const client = await connect(front, 'strict', 'auto')
    const calls = [
      call(client),
      client.callTool({ name: 'pay', arguments: { to: 'max' } }),
      call(await connect(front, 'trusted', 'auto')),
    ]
    const { open: listed, answer: say } = hub.consentServices('default')
    await vi.waitUntil(async () => (await listed()).length === 3, { timeout: 300_000 })
    for (const { id } of await listed()) await say(id, ONCE, OWNER)
    for (const called of calls) expect(await called).toMatchObject({ content: [{ text: 'paid' }] })
  })
})

describe('an approval that became void', () => {
  const PAGES = 'quartermaster://operations'

  /** A client that has a handle and is told of ends, and what it was told. */
  async function handled() {
    const { hub, front, runs } = await open()
    const client = await connect(front, 'strict', 'auto')
    const told: string[] = []
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void told.push(params.uri))
    await client.listen({ resourceSubscriptions: [PAGES] })
    const { _meta } = await whileAdvancing(hub.clock, call(client))
    return { hub, client, runs, told, id: String(_meta?.['quartermaster/operationId']) }
  }

  it.each([
    [
      'the tool is another one now',
      'DEFINITION_INVALID',
      (hub: Hub) => {
        const pay = simpleTool('pay', { mutates: true, consent: ['ledger.pay'], idempotent: true })
        hub.write('main.ts', { capabilities: [simpleCapability('main', [pay], { consentOperations: PAYING })] })
        return hub.catalogue.reload()
      },
    ],
    [
      'the agent has lost the tool',
      'TOOL_NOT_FOUND',
      (hub: Hub) => hub.setAgents({ strict: { capabilities: { main: { tools: [] } } } }),
    ],
  ] as const)('tells its agent the end without an answer: %s', async (_what, code, change) => {
    const { hub, client, runs, told, id } = await handled()
    await change(hub)
    await vi.waitUntil(() => told.includes(PAGES), { timeout: 300_000 })
    expect(await statusOf(client, id)).toMatchObject({ state: 'failed', error: { code } })
    expect([await hub.consentServices('default').open(), runs]).toEqual([[], []])
    await expect(hub.consentServices('default').answer(id, ONCE, OWNER)).rejects.toMatchObject({
      code: 'REQUEST_REFUSED',
    })
  })

  it('tells its agent the end when it expires', async () => {
    const { hub, client, told, id } = await handled()
    await hub.clock.advance(25 * HOUR_MS)
    await vi.waitUntil(() => told.includes(PAGES), { timeout: 300_000 })
    expect(await statusOf(client, id)).toMatchObject({ state: 'expired', error: { code: 'CONSENT_REQUIRED' } })
  })
})

describe('a client that says yes', () => {
  const yes = { consent: { action: 'accept', content: { allow: true } } }
  const said = (params: object) => ({
    method: 'tools/call',
    name: 'pay',
    params: { name: 'pay', arguments: { to: 'mallory' }, ...params },
    capabilities: ELICITATION,
  })

  it('before it was asked is asked all the same: nobody has seen what it is about', async () => {
    const { front, runs } = await open()
    const { result } = await ask(front, 'trusted', said({ inputResponses: yes }))
    expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { consent: expect.anything() } })
    expect(runs).toEqual([])
    const { requestState } = result as { requestState: string }
    const { result: paid } = await ask(front, 'trusted', said({ inputResponses: yes, requestState }))
    expect(paid).toMatchObject({ content: [{ type: 'text', text: 'paid' }] })
  })

  it.each([
    ['denied', NO, { _meta: { 'quartermaster/error': { code: 'CONSENT_DENIED' } } }, 0],
    ['allowed', ONCE, { content: [{ type: 'text', text: 'paid' }] }, 1],
  ] as const)('long after somebody else has %s it gets the end of that', async (_what, answer, expected, times) => {
    const { hub, front, runs } = await open()
    const { result } = await ask(front, 'trusted', said({}))
    await hub.consentServices('default').answer(await waiting(hub), answer, OWNER)
    await hub.clock.advance(5 * 60_000)
    const { requestState } = result as { requestState: string }
    expect((await ask(front, 'trusted', said({ inputResponses: yes, requestState }))).result).toMatchObject(expected)
    expect(runs).toHaveLength(times)
  })
})

describe('the state that a client carries between the question and its answer', () => {
  const yes = (key: string) => ({ [key]: { action: 'accept', content: { allow: true } } })

  async function asked() {
    const { hub, front, runs } = await open()
    const send = (params: object = {}) =>
      ask(front, 'trusted', {
        method: 'tools/call',
        name: 'pay',
        params: { name: 'pay', arguments: { to: 'eve' }, ...params },
        capabilities: ELICITATION,
      })
    const { result } = await send()
    expect(result).toMatchObject({ resultType: 'input_required' })
    const { inputRequests, requestState } = result as { inputRequests: object; requestState: string }
    const inputResponses = yes(Object.keys(inputRequests)[0] ?? '')
    return { hub, runs, requestState, answer: (state: string) => send({ inputResponses, requestState: state }) }
  }

  it('lets the answer join the call that waits', async () => {
    const { runs, requestState, answer } = await asked()
    expect(await answer(requestState)).toMatchObject({ result: { content: [{ type: 'text', text: 'paid' }] } })
    expect(runs).toHaveLength(1)
  })

  it('is refused wherever it was changed, and the call goes on waiting', async () => {
    const { hub, runs, requestState, answer } = await asked()
    const places = [0, Math.floor(requestState.length / 2), requestState.length - 2]
    for (const place of places) {
      const other = requestState[place] === 'A' ? 'B' : 'A'
      const changed = `${requestState.slice(0, place)}${other}${requestState.slice(place + 1)}`
      expect(await answer(changed)).toHaveProperty('error')
    }
    expect([await hub.consentServices('default').open(), runs]).toMatchObject([[{ tool: 'pay' }], []])
  })

  it('allows nothing when it has run out, tells that the call goes on waiting, and is refused after a day', async () => {
    const { hub, runs, requestState, answer } = await asked()
    await hub.clock.advance(HOUR_MS)
    expect(await answer(requestState)).toMatchObject({ result: { structuredContent: { status: 'waiting' } } })
    expect([await hub.consentServices('default').open(), runs]).toMatchObject([[{ tool: 'pay' }], []])
    await hub.clock.advance(24 * HOUR_MS)
    expect(await answer(requestState)).toHaveProperty('error')
  })
})
