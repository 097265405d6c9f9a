import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { memoryStorage } from '../../testing/memory-store.ts'
import { ask, frontOf } from './testing/front.ts'

const OWNER = { name: 'the owner', via: 'owner' } as const
const FOR_A_MOMENT = { decision: 'allow', lasting: 'time', minutes: 0.5 } as const
const NO = { decision: 'deny', lasting: 'once' } as const
const YES = { consent: { action: 'accept', content: { allow: true } } }

interface Start {
  readonly weight?: 'moderate' | 'high'
  /** How often it fails before it pays. */
  readonly failures?: number
  readonly store?: ReturnType<typeof memoryStorage>
}

/** Processes that come one after the other, on one store: each has a tool that a person has to allow, and one around it. */
function machine() {
  const storage = memoryStorage()
  const clock = createFakeClock()
  const runs: unknown[] = []
  const told: string[] = []
  async function start({ weight = 'moderate', failures = 0, store = storage }: Start = {}) {
    let left = failures
    const facts = { mutates: true, idempotent: true, retry: 'replay', timeoutMs: 600_000 } as const
    const pay = simpleTool('pay', {
      ...facts,
      consent: ['ledger.pay'],
      handler(input) {
        if (left-- > 0) throw new AppError('DEPENDENCY_UNAVAILABLE', 'The bank is closed.')
        runs.push(input)
        return 'paid'
      },
    })
    const order = simpleTool('order', {
      ...facts,
      consent: ['shop.order'],
      handler: async (input: never, { call }) => (await call('pay', input), 'ordered'),
    })
    const consentOperations = [
      { name: 'ledger.pay', reason: 'It pays.', weight },
      { name: 'shop.order', reason: 'It orders.', weight },
    ]
    const agent = { capabilities: { main: {} }, consent: { allow: [], askClient: true } }
    const hub = await createHub({
      units: { 'main.ts': { capabilities: [simpleCapability('main', [pay, order], { consentOperations })] } },
      agents: { ada: agent, eve: agent },
      settings: { retryFirstSeconds: 60 },
      storage: store,
      clock,
      tellEnd: ({ tool, state }) => void told.push(`${tool} ${state}`),
    })
    hub.work()
    const front = frontOf(hub)
    const send = (name: string, params: object = {}, as = 'ada') =>
      ask(front, as, {
        method: 'tools/call',
        name,
        params: { name, arguments: { to: 'bob' }, ...params },
        capabilities: { elicitation: { form: {} } },
      })
    return { hub, front, send, call: (params?: object, as?: string) => send('pay', params, as) }
  }
  return { start, runs, told, clock }
}

type Sent = Awaited<ReturnType<typeof ask>>

/** What a client that is asked something carries with it. */
function carried({ result }: Sent) {
  const { requestState, _meta, inputRequests } = result as {
    requestState: string
    _meta: Record<string, string>
    inputRequests: object
  }
  return { requestState, id: _meta['quartermaster/operationId'] ?? '', key: Object.keys(inputRequests)[0] ?? '' }
}

/** A client was asked by a process that is gone, and another one is there. */
async function restarted(next: Start = {}) {
  const { start, ...rest } = machine()
  const first = await start()
  const asked = carried(await first.call())
  await first.hub.stop()
  return { ...(await start(next)), start, ...rest, ...asked }
}

describe('the answer of a client to a question of a process that is gone', () => {
  it('joins the call that waits on record, and counts', async () => {
    const { hub, call, runs, id, requestState } = await restarted()
    const { result } = await call({ inputResponses: YES, requestState })
    expect(result).toMatchObject({ structuredContent: { status: 'waiting', operationId: id } })
    await hub.clock.advance(1_000)
    expect(runs).toEqual([{ to: 'bob' }])
    expect(await hub.operations.list({ organisation: 'default' })).toMatchObject({
      operations: [{ id, state: 'succeeded' }],
    })
  })

  it('gets the end of that, when it comes once more', async () => {
    const { hub, call, runs, requestState } = await restarted()
    await call({ inputResponses: YES, requestState })
    await hub.clock.advance(1_000)
    const { result } = await call({ inputResponses: YES, requestState })
    expect(result).toMatchObject({ content: [{ text: 'paid' }] })
    expect(runs).toHaveLength(1)
  })

  it('may be a no', async () => {
    const { call, runs, requestState } = await restarted()
    const { result } = await call({ inputResponses: { consent: { action: 'decline' } }, requestState })
    expect(result).toMatchObject({ _meta: { 'quartermaster/error': { code: 'CONSENT_DENIED' } } })
    expect(runs).toEqual([])
  })

  it('comes too late when somebody else has answered', async () => {
    const { hub, call, runs, id, requestState } = await restarted()
    await hub.consentServices('default').answer(id, NO, OWNER)
    const { result } = await call({ inputResponses: YES, requestState })
    expect(result).toMatchObject({ _meta: { 'quartermaster/error': { code: 'CONSENT_DENIED' } } })
    expect(runs).toEqual([])
  })

  it('is none for another agent, nor for other arguments', async () => {
    const { hub, call, runs, requestState } = await restarted()
    const gone = { result: { _meta: { 'quartermaster/error': { code: 'CURSOR_GONE' } } } }
    expect(await call({ inputResponses: YES, requestState }, 'eve')).toMatchObject(gone)
    const other = { arguments: { to: 'mallory' }, inputResponses: YES, requestState }
    expect(await call(other)).toMatchObject(gone)
    expect([await hub.consentServices('default').open(), runs]).toMatchObject([[{ tool: 'pay' }], []])
  })

  it('is refused where it was changed, or was signed for another store', async () => {
    const { call, start, runs, requestState } = await restarted()
    const elsewhere = await start({ store: memoryStorage() })
    // Not the last ones, whose lowest bits may stand for nothing.
    const changed = `${requestState.slice(0, -6)}${requestState.at(-6) === 'A' ? 'B' : 'A'}${requestState.slice(-5)}`
    expect(await call({ inputResponses: YES, requestState: changed })).toHaveProperty('error')
    expect(await elsewhere.call({ inputResponses: YES, requestState })).not.toHaveProperty(
      'result.content.0.text',
      'paid',
    )
    expect(runs).toEqual([])
  })

  it('that is a no is not told as well', async () => {
    const { call, told, clock, requestState } = await restarted()
    await call({ inputResponses: { consent: { action: 'decline' } }, requestState })
    await clock.advance(60_000)
    expect(told).toEqual([])
  })

  it('counts only under the key of the question', async () => {
    const { hub, call, requestState } = await restarted()
    await call({ inputResponses: { other: { action: 'decline' } }, requestState })
    expect(await hub.consentServices('default').open()).toMatchObject([{ tool: 'pay' }])
  })

  it('does not reach what has become weightier since', async () => {
    const { hub, call, runs, clock, requestState } = await restarted({ weight: 'high' })
    await call({ inputResponses: YES, requestState })
    await clock.advance(1_000)
    expect([await hub.consentServices('default').open(), runs]).toMatchObject([[{ tool: 'pay' }], []])
  })

  it.each([{ action: 'accept', content: { allow: true } }, { action: 'decline' }])(
    'is none to the call around the one that it was asked about: %j',
    async said => {
      const { start, runs, clock } = machine()
      const first = await start()
      const one = carried(await first.send('order'))
      await first.hub.consentServices('default').answer(one.id, FOR_A_MOMENT, OWNER)
      await clock.advance(0)
      const two = carried(await first.send('order', { requestState: one.requestState }))
      await first.hub.stop()
      const { hub, send } = await start()
      // What allowed it has run out, so that it is asked about anew.
      await clock.advance(120_000)
      expect(await hub.consentServices('default').open()).toMatchObject([{ tool: 'order' }])
      await send('order', { inputResponses: { [two.key]: said }, requestState: two.requestState })
      await clock.advance(1_000)
      expect([await hub.consentServices('default').open(), runs]).toMatchObject([[{ tool: 'order' }], []])
    },
  )
})

describe('the answer of a client that comes once more', () => {
  it('does not count for what its person is asked anew', async () => {
    const { start, runs, clock } = machine()
    const { hub, call } = await start({ failures: 1 })
    const { id, requestState } = carried(await call())
    await hub.consentServices('default').answer(id, FOR_A_MOMENT, OWNER)
    await call({ inputResponses: YES, requestState })
    await clock.advance(61_000)
    expect(await hub.consentServices('default').open()).toMatchObject([{ tool: 'pay' }])
    await call({ inputResponses: YES, requestState })
    await clock.advance(1_000)
    expect([await hub.consentServices('default').open(), runs]).toMatchObject([[{ tool: 'pay' }], []])
  })

  it('hears that it is done, long after the result was handed over', async () => {
    const { start, clock } = machine()
    const { call } = await start()
    const { requestState } = carried(await call())
    await call({ inputResponses: YES, requestState })
    await clock.advance(120_000)
    const { result } = await call({ inputResponses: YES, requestState })
    expect(result).toMatchObject({ content: [{ text: expect.stringContaining('"pay" is done.') }] })
  })
})

it('a call whose token is taken back while its client is asked is told at once', async () => {
  const { start, told, clock } = machine()
  const { front, call } = await start()
  await call()
  await front.revoke('ada')
  await clock.advance(3_000)
  expect(told).toEqual(['pay cancelled'])
})
