import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { memoryStorage } from '../../testing/memory-store.ts'
import { ask, frontOf } from './testing/front.ts'

const CAN_FOLLOW = { extensions: { 'io.modelcontextprotocol/tasks': {} }, elicitation: { form: {} } }
const OWNER = { name: 'the owner', via: 'owner' } as const
const ONCE = { decision: 'allow', lasting: 'once' } as const
const NO = { decision: 'deny', lasting: 'once' } as const
const ONCE_SLOW_MS = 101
/** As long as a caller waits for a person before it has to come back. */
const PATIENCE_MS = 20_000

/** A tool that a person has to allow, one around it, and one whose first try fails; and how often they ran. */
async function open() {
  const storage = memoryStorage()
  const [first, second] = [deferred<void>(), deferred<void>()]
  const runs: string[] = []
  let tries = 0
  const tools = [
    simpleTool('pay', {
      mutates: true,
      asTask: 'whenPossible',
      consent: ['ledger.pay'],
      handler: () => `paid ${runs.push('pay')}`,
    }),
    simpleTool('settle', {
      mutates: true,
      asTask: 'whenPossible',
      async handler(_input: never, { call }) {
        await first.promise
        return call('pay', {})
      },
    }),
    simpleTool('send', {
      mutates: true,
      idempotent: true,
      retry: 'replay',
      asTask: 'whenPossible',
      async handler() {
        await (tries++ === 0 ? first : second).promise
        if (tries === 1) throw new AppError('DEPENDENCY_UNAVAILABLE', 'The post office is closed.')
        return `sent ${runs.push('send')}`
      },
    }),
  ]
  const consentOperations = [{ name: 'ledger.pay', reason: 'It pays.', weight: 'moderate' as const }]
  const capabilities = { main: {} }
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', tools, { consentOperations })] } },
    agents: { worker: { capabilities }, trusted: { capabilities, consent: { allow: [], askClient: true } } },
    storage,
  })
  hub.work()
  const front = frontOf(hub)
  const call = (name: string, agent = 'worker') =>
    ask(front, agent, { method: 'tools/call', name, params: { name }, capabilities: CAN_FOLLOW })
  const look = async (method: 'get' | 'update' | 'cancel', taskId: string, more: object = {}, agent = 'worker') => {
    const params = { taskId, ...more }
    return (await ask(front, agent, { method: `tasks/${method}`, name: taskId, params, capabilities: CAN_FOLLOW }))
      .result
  }
  const state = async (id: string) => (await storage.store.get('operations', id))?.state
  return { hub, call, look, state, first, second, runs }
}

type Stage = Awaited<ReturnType<typeof open>>

/** A call that has become a task, as soon as something is so. */
async function taskOf(stage: Stage, answer: ReturnType<Stage['call']>, isSo: () => unknown): Promise<string> {
  await expect.poll(isSo).toBeTruthy()
  await stage.hub.clock.advance(ONCE_SLOW_MS)
  const { result } = await answer
  expect(result).toMatchObject({ resultType: 'task', status: 'working' })
  return String(result?.taskId)
}

const waitingTask = (stage: Stage) =>
  taskOf(stage, stage.call('pay'), async () => (await stage.hub.consentServices('default').open()).length)

/** A task whose first try has failed. */
async function queuedTask(stage: Stage): Promise<string> {
  const taskId = await taskOf(stage, stage.call('send'), () => stage.hub.operations.running().length)
  stage.first.resolve()
  await expect.poll(() => stage.state(taskId)).toBe('queued')
  return taskId
}

describe('a task that waits for a person', () => {
  it.each([
    ['at first', 0],
    ['when nobody has answered for a while', PATIENCE_MS],
  ])('is under way and says what it waits for, %s', async (_when, ms) => {
    const stage = await open()
    const taskId = await waitingTask(stage)
    await stage.hub.clock.advance(ms)
    expect(await stage.look('get', taskId)).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('Waiting for approval'),
    })
    expect(await stage.look('get', taskId)).not.toHaveProperty('error')
  })

  it('ends as the person says, however late', async () => {
    const stage = await open()
    // One after the other: equal calls that wait get one answer.
    const paid = await waitingTask(stage)
    await stage.hub.clock.advance(PATIENCE_MS)
    await stage.hub.consentServices('default').answer(paid, ONCE, OWNER)
    await expect.poll(async () => (await stage.look('get', paid))?.status).toBe('completed')
    const refused = await waitingTask(stage)
    await stage.hub.clock.advance(PATIENCE_MS)
    await stage.hub.consentServices('default').answer(refused, NO, OWNER)
    expect(await stage.look('get', paid)).toMatchObject({ result: { content: [{ text: 'paid 1' }] } })
    expect(await stage.look('get', refused)).toMatchObject({
      status: 'failed',
      error: { data: { code: 'CONSENT_DENIED' } },
    })
  })

  it.each([
    ['at first', 0],
    ['when nobody has answered for a while', PATIENCE_MS],
  ])('can be cancelled, and nobody can allow it any more, %s', async (_when, ms) => {
    const stage = await open()
    const taskId = await waitingTask(stage)
    await stage.hub.clock.advance(ms)
    expect(await stage.look('cancel', taskId)).toMatchObject({ resultType: 'complete' })
    expect(await stage.look('get', taskId)).toMatchObject({ status: 'cancelled' })
    expect(await failureOf(stage.hub.consentServices('default').answer(taskId, ONCE, OWNER))).toMatchObject({
      code: 'REQUEST_REFUSED',
    })
    expect(await stage.look('cancel', taskId)).toMatchObject({ resultType: 'complete' })
    await stage.hub.clock.advance(5_000)
    expect([await stage.state(taskId), stage.runs]).toEqual(['cancelled', []])
  })

  it('takes no yes of a client that was not shown the question', async () => {
    const stage = await open()
    const taskId = await taskOf(stage, stage.call('settle', 'trusted'), () => stage.hub.operations.running().length)
    stage.first.resolve()
    await expect.poll(async () => (await stage.hub.consentServices('default').open()).length).toBe(1)
    await stage.hub.clock.advance(1)
    const yes = { inputResponses: { consent: { action: 'accept', content: { allow: true } } } }
    await stage.look('update', taskId, yes, 'trusted')
    const shown = await stage.look('get', taskId, {}, 'trusted')
    expect(shown).toMatchObject({ status: 'input_required', inputRequests: { consent: expect.anything() } })
    expect(stage.runs).toEqual([])
    await stage.look('update', taskId, yes, 'trusted')
    await expect.poll(async () => (await stage.look('get', taskId, {}, 'trusted'))?.status).toBe('completed')
    expect(stage.runs).toEqual(['pay'])
  })
})

describe('a task that is tried again', () => {
  it('is under way until then, and while it runs again', async () => {
    const stage = await open()
    const taskId = await queuedTask(stage)
    expect(await stage.look('get', taskId)).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('could not be done now'),
    })
    await stage.hub.clock.advance(10_000)
    expect(await stage.state(taskId)).toBe('leased')
    const again = await stage.look('get', taskId)
    expect(again).toMatchObject({ status: 'working' })
    expect(again).not.toHaveProperty('error')
    stage.second.resolve()
    await expect.poll(async () => (await stage.look('get', taskId))?.status).toBe('completed')
    expect(await stage.look('get', taskId)).toMatchObject({ result: { content: [{ text: 'sent 1' }] } })
  })

  it.each([
    ['before its next try', 0, 'queued'],
    ['while it runs again', 10_000, 'leased'],
  ])('can be cancelled %s', async (_when, ms, state) => {
    const stage = await open()
    const taskId = await queuedTask(stage)
    await stage.hub.clock.advance(ms)
    expect(await stage.state(taskId)).toBe(state)
    expect(await stage.look('cancel', taskId)).toMatchObject({ resultType: 'complete' })
    await expect.poll(async () => (await stage.look('get', taskId))?.status).toBe('cancelled')
    await stage.hub.clock.advance(60_000)
    expect(stage.runs).toEqual([])
  })
})
