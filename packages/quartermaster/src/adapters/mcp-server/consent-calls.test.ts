import type { Client } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { whileAdvancing } from '../../testing/fake-clock.ts'
import { createHub, type Hub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { ask, connect, ERAS, frontOf } from './testing/front.ts'

const HOUR_MS = 3_600_000
const OWNER = { name: 'the owner', via: 'owner' } as const
const ONCE = { decision: 'allow', lasting: 'once' } as const
const NO = { decision: 'deny', lasting: 'once' } as const
const ELICITATION = { elicitation: { form: {} } }

/** A tool that a person has to allow. The word of the trusted agent's client counts, that of the strict one's does not. */
async function open() {
  const runs: unknown[] = []
  const pay = simpleTool('pay', {
    mutates: true,
    consent: ['ledger.pay'],
    handler: input => (runs.push(input), 'paid'),
  })
  const consentOperations = [{ name: 'ledger.pay', reason: 'It pays.', weight: 'moderate' as const }]
  const capabilities = { main: {} }
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', [pay], { consentOperations })] } },
    agents: { strict: { capabilities }, trusted: { capabilities, consent: { allow: [], askClient: true } } },
    tellEnd: operation => hub.mcp.tellEnd(operation),
  })
  hub.work()
  return { hub, runs, front: frontOf(hub, {}) }
}

const call = (client: Client) => client.callTool({ name: 'pay', arguments: { to: 'eve' } })

/** The id of the one call that waits, once it does. */
async function waiting({ consentDesk }: Hub): Promise<string> {
  const first = await vi.waitUntil(async () => (await consentDesk.open())[0], { timeout: 20_000 })
  return first.id
}

/** How an operation stands, as the client reads it. */
async function statusOf(client: Client, id: string): Promise<unknown> {
  const { contents } = await client.readResource({ uri: `quartermaster://operations/${id}` })
  return JSON.parse((contents[0] as { text: string }).text)
}

afterEach(() => void vi.useRealTimers())

describe.each(ERAS)('a client of the era %s whose call a person has to allow', era => {
  it.each([
    ['allowed', ONCE, { content: [{ type: 'text', text: 'paid' }] }, 1],
    ['denied', NO, { isError: true, _meta: { 'quartermaster/error': { code: 'CONSENT_DENIED' } } }, 0],
  ] as const)('is answered when it is %s in time', async (_what, answer, expected, times) => {
    const { hub, front, runs } = await open()
    const answered = call(await connect(front, 'strict', era))
    await hub.consentDesk.answer(await waiting(hub), answer, OWNER)
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
    await expect(hub.consentDesk.answer(id, ONCE, OWNER)).rejects.toMatchObject({ code: 'REQUEST_REFUSED' })
    expect([await statusOf(client, id), runs]).toMatchObject([{ state: 'expired' }, []])
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
    await hub.consentDesk.answer(await waiting(hub), NO, OWNER)
    expect(await answered).toMatchObject({ _meta: { 'quartermaster/error': { code: 'CONSENT_DENIED' } } })
    expect(runs).toEqual([])
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
    expect([await hub.consentDesk.open(), runs]).toMatchObject([[{ tool: 'pay' }], []])
  })

  it('is refused when it has run out, and the call goes on waiting', async () => {
    const { hub, runs, requestState, answer } = await asked()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + HOUR_MS })
    expect(await answer(requestState)).toHaveProperty('error')
    expect([await hub.consentDesk.open(), runs]).toMatchObject([[{ tool: 'pay' }], []])
  })
})
