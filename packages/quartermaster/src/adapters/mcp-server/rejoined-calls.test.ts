import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { memoryStorage } from '../../testing/memory-store.ts'
import { ask, frontOf } from './testing/front.ts'

const OWNER = { name: 'the owner', via: 'owner' } as const
const NO = { decision: 'deny', lasting: 'once' } as const
const YES = { consent: { action: 'accept', content: { allow: true } } }

/** Processes that come one after the other, on one store: each has a tool that a person has to allow. */
function machine() {
  const storage = memoryStorage()
  const clock = createFakeClock()
  const runs: unknown[] = []
  async function start(store = storage) {
    const pay = simpleTool('pay', {
      mutates: true,
      consent: ['ledger.pay'],
      handler: input => (runs.push(input), 'paid'),
    })
    const consentOperations = [{ name: 'ledger.pay', reason: 'It pays.', weight: 'moderate' as const }]
    const agent = { capabilities: { main: {} }, consent: { allow: [], askClient: true } }
    const hub = await createHub({
      units: { 'main.ts': { capabilities: [simpleCapability('main', [pay], { consentOperations })] } },
      agents: { ada: agent, eve: agent },
      storage: store,
      clock,
    })
    hub.work()
    const front = frontOf(hub)
    const call = (params: object = {}, agent = 'ada') =>
      ask(front, agent, {
        method: 'tools/call',
        name: 'pay',
        params: { name: 'pay', arguments: { to: 'bob' }, ...params },
        capabilities: { elicitation: { form: {} } },
      })
    return { hub, call }
  }
  return { start, runs }
}

/** A client was asked by a process that is gone, and another one is there. */
async function restarted() {
  const { start, runs } = machine()
  const first = await start()
  const { result } = await first.call()
  const { requestState, _meta } = result as { requestState: string; _meta: Record<string, string> }
  const id = _meta['quartermaster/operationId'] ?? ''
  return { ...(await start()), start, runs, id, requestState }
}

describe('the answer of a client to a question of a process that is gone', () => {
  it('joins the call that waits on record, and counts', async () => {
    const { hub, call, runs, id, requestState } = await restarted()
    const { result } = await call({ inputResponses: YES, requestState })
    expect(result).toMatchObject({ structuredContent: { status: 'waiting', operationId: id } })
    await hub.clock.advance(1_000)
    expect(runs).toEqual([{ to: 'bob' }])
    expect(await hub.operations.list({})).toMatchObject({ operations: [{ id, state: 'succeeded' }] })
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
    await hub.consentDesk.answer(id, NO, OWNER)
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
    expect([await hub.consentDesk.open(), runs]).toMatchObject([[{ tool: 'pay' }], []])
  })

  it('is refused where it was changed, has run out, or was signed for another store', async () => {
    const { hub, call, start, runs, requestState } = await restarted()
    const elsewhere = await start(memoryStorage())
    const changed = `${requestState.slice(0, -2)}${requestState.endsWith('A') ? 'BB' : 'AA'}`
    expect(await call({ inputResponses: YES, requestState: changed })).toHaveProperty('error')
    expect(await elsewhere.call({ inputResponses: YES, requestState })).not.toHaveProperty(
      'result.content.0.text',
      'paid',
    )
    await hub.clock.advance(11 * 60_000)
    expect(await call({ inputResponses: YES, requestState })).toHaveProperty('error')
    expect(runs).toEqual([])
  })
})
