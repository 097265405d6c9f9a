import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { defineTool, toolFailure } from '../../core/catalogue/index.ts'
import { ANSWER_SECONDS, type StorageAccess } from '../../core/operations/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { memoryStorage } from '../../testing/memory-store.ts'
import { ask, connect, frontOf, type TestFront } from './testing/front.ts'

const CAN_FOLLOW = { extensions: { 'io.modelcontextprotocol/tasks': {} }, elicitation: {} }
const ONCE_SLOW_MS = 101

async function open(storage: StorageAccess = memoryStorage()) {
  const work = deferred<string>()
  const slow = { asTask: 'whenPossible', handler: () => work.promise } as const
  const gathers = defineTool({
    name: 'gathers',
    short: 'Asks two things after a while.',
    input: { type: 'object' },
    mutates: false,
    asTask: 'whenPossible',
    async handler(_input, context) {
      context.progress({ progress: 1, message: 'halfway' })
      await work.promise
      const names = await Promise.all(
        ['one', 'two'].map(key => context.ask({ key, message: `Your ${key}?`, schema: { type: 'object' } })),
      )
      return names.map(answer => answer.content?.name).join(' and ')
    },
  })
  const tools = [
    simpleTool('slow', slow),
    simpleTool('changes', { ...slow, mutates: true }),
    simpleTool('only_followed', { asTask: 'always', handler: () => work.promise }),
    simpleTool('says_no', { asTask: 'whenPossible', handler: async () => toolFailure(await work.promise) }),
    simpleTool('breaks', {
      asTask: 'whenPossible',
      async handler() {
        await work.promise
        throw new AppError('DEPENDENCY_UNAVAILABLE', 'The printer is out of paper.')
      },
    }),
    simpleTool('ordinary', { handler: () => work.promise }),
    gathers,
    simpleTool('asks_before_and_after', {
      asTask: 'whenPossible',
      async handler(_input: never, context) {
        const before = await context.ask({ message: 'Clean up?' })
        await work.promise
        const after = await context.ask({ message: 'Really delete everything?' })
        return `${before.action} and ${after.action}`
      },
    }),
  ]
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', tools)] } },
    agents: { worker: { capabilities: { main: {} } }, stranger: { capabilities: { main: {} } } },
    storage,
  })
  const front = frontOf(hub)
  return { hub, front, work, storage, ...driver(front) }
}

function driver(front: TestFront) {
  const call = (name: string, more: object = {}) =>
    ask(front, 'worker', { method: 'tools/call', name, params: { name, ...more }, capabilities: CAN_FOLLOW })
  const look = (method: 'get' | 'update' | 'cancel', taskId: string, params: object = {}, agent = 'worker') =>
    ask(front, agent, {
      method: `tasks/${method}`,
      name: taskId,
      params: { taskId, ...params },
      capabilities: CAN_FOLLOW,
    })
  return { call, look }
}

/** Calls a slow tool and waits until the server has lost its patience. */
async function becomeTask(stage: Awaited<ReturnType<typeof open>>, name: string): Promise<string> {
  const answer = stage.call(name)
  await expect.poll(() => stage.hub.operations.running().length).toBeGreaterThan(0)
  await stage.hub.clock.advance(ONCE_SLOW_MS)
  const { result } = await answer
  expect(result).toMatchObject({ resultType: 'task', status: 'working', taskId: expect.any(String) })
  return result?.taskId as string
}

describe('a tool that says it is slow', () => {
  it('answers directly when it turns out to be quick', async () => {
    const { call, work } = await open()
    work.resolve('there')
    const { result } = await call('slow')
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'there' }] })
    expect(result).not.toHaveProperty('taskId')
  })

  it('becomes a task that is followed to its end', async () => {
    const stage = await open()
    const taskId = await becomeTask(stage, 'slow')
    expect((await stage.look('get', taskId)).result).toMatchObject({
      status: 'working',
      resultType: 'complete',
      taskId,
    })
    stage.work.resolve('at last')
    await expect.poll(async () => (await stage.look('get', taskId)).result?.status).toBe('completed')
    const { result } = await stage.look('get', taskId)
    expect(result).toMatchObject({ result: { content: [{ text: 'at last' }] }, ttlMs: expect.any(Number) })
  })

  it('says no in its result, and breaks in its error', async () => {
    const stage = await open()
    const no = await becomeTask(stage, 'says_no')
    const broken = await becomeTask(stage, 'breaks')
    stage.work.resolve('No.')
    await expect.poll(async () => (await stage.look('get', no)).result?.status).toBe('completed')
    expect((await stage.look('get', no)).result).toMatchObject({ result: { isError: true } })
    await expect.poll(async () => (await stage.look('get', broken)).result?.status).toBe('failed')
    expect((await stage.look('get', broken)).result).toMatchObject({
      error: { code: -32603, data: { code: 'DEPENDENCY_UNAVAILABLE' } },
    })
  })

  it('keeps its result over a restart', async () => {
    const stage = await open()
    const taskId = await becomeTask(stage, 'slow')
    stage.work.resolve('still here')
    await expect.poll(async () => (await stage.look('get', taskId)).result?.status).toBe('completed')
    await stage.hub.stop()
    const { look } = await open(stage.storage)
    expect((await look('get', taskId)).result).toMatchObject({ result: { content: [{ text: 'still here' }] } })
  })

  it('asks inside the task, takes the answers one by one, and goes on', async () => {
    const stage = await open()
    const taskId = await becomeTask(stage, 'gathers')
    stage.work.resolve('go')
    await expect.poll(async () => (await stage.look('get', taskId)).result?.status).toBe('input_required')
    expect((await stage.look('get', taskId)).result).toMatchObject({ statusMessage: 'halfway' })
    const answer = (name: string) => ({ action: 'accept', content: { name } })
    const { result } = await stage.look('update', taskId, {
      inputResponses: { one: answer('Ada'), three: answer('No') },
    })
    expect(result).toMatchObject({ resultType: 'complete' })
    const half = (await stage.look('get', taskId)).result
    expect(half).toMatchObject({ status: 'input_required' })
    expect(Object.keys(half?.inputRequests ?? {})).toEqual(['two'])
    await stage.look('update', taskId, { inputResponses: { two: answer('Bob') } })
    await expect.poll(async () => (await stage.look('get', taskId)).result?.status).toBe('completed')
    expect((await stage.look('get', taskId)).result).toMatchObject({ result: { content: [{ text: 'Ada and Bob' }] } })
  })

  it('is told of again when its call is repeated, and takes no answer of that for its own', async () => {
    const stage = await open()
    const { result } = await stage.call('asks_before_and_after')
    const accepted = {
      requestState: result?.requestState,
      inputResponses: { answer: { action: 'accept', content: {} } },
    }
    const both = Promise.all([1, 2].map(() => stage.call('asks_before_and_after', accepted)))
    await expect.poll(() => stage.hub.clock.advance(ONCE_SLOW_MS).then(() => stage.front.counts().requests)).toBe(0)
    const [first, again] = await both
    expect(first?.result).toMatchObject({ resultType: 'task', status: 'working' })
    expect(again?.result).toEqual(first?.result)
    const taskId = first?.result?.taskId as string
    stage.work.resolve('go')
    await expect.poll(async () => (await stage.look('get', taskId)).result?.status).toBe('input_required')
    const late = await stage.call('asks_before_and_after', accepted)
    expect(late.result).toMatchObject({ resultType: 'task', status: 'input_required', taskId })
    await stage.hub.clock.advance(ANSWER_SECONDS * 1000 + 1)
    expect((await stage.look('get', taskId)).result).toMatchObject({ status: 'input_required' })
    await stage.look('update', taskId, { inputResponses: { answer: { action: 'decline' } } })
    await expect.poll(async () => (await stage.look('get', taskId)).result?.status).toBe('completed')
    expect((await stage.look('get', taskId)).result).toMatchObject({
      result: { content: [{ text: 'accept and decline' }] },
    })
  })

  it('is cancelled, once and for all', async () => {
    const stage = await open()
    const taskId = await becomeTask(stage, 'slow')
    expect((await stage.look('cancel', taskId)).result).toMatchObject({ resultType: 'complete' })
    expect((await stage.look('get', taskId)).result).toMatchObject({ status: 'cancelled' })
    expect((await stage.look('cancel', taskId)).result).toMatchObject({ resultType: 'complete' })
    stage.work.resolve('too late')
    expect((await stage.look('get', taskId)).result).toMatchObject({ status: 'cancelled' })
  })

  it('is told to be uncertain when it may have changed something before it was cancelled', async () => {
    const stage = await open()
    const taskId = await becomeTask(stage, 'changes')
    await stage.look('cancel', taskId)
    expect((await stage.look('get', taskId)).result).toMatchObject({
      status: 'cancelled',
      statusMessage: expect.stringContaining('may have done its work'),
    })
  })

  it('is nobody else’s', async () => {
    const stage = await open()
    const taskId = await becomeTask(stage, 'slow')
    for (const method of ['get', 'update', 'cancel'] as const) {
      const foreign = await stage.look(method, taskId, {}, 'stranger')
      const unknown = await stage.look(method, 'op_unheard_of', {}, 'stranger')
      expect(foreign.error).toMatchObject({
        code: -32602,
        message: expect.stringContaining(`There is no task "${taskId}"`),
      })
      expect(unknown.error).toMatchObject({ code: -32602 })
    }
    expect((await stage.look('get', taskId)).result).toMatchObject({ status: 'working' })
  })

  it('is given up when it is not over within its time, also when it waits for an answer', async () => {
    const stage = await open()
    const taskId = await becomeTask(stage, 'gathers')
    stage.work.resolve('go')
    await expect.poll(async () => (await stage.look('get', taskId)).result?.status).toBe('input_required')
    await stage.hub.clock.advance(24 * 3_600_000)
    await expect.poll(async () => (await stage.look('get', taskId)).result?.status).toBe('failed')
    expect(stage.hub.operations.running()).toEqual([])
  })

  it('can be started only so many times at once by one agent', async () => {
    const stage = await open()
    const answers = Array.from({ length: 100 }, () => stage.call('slow'))
    await expect.poll(() => stage.hub.operations.running().length).toBe(100)
    await stage.hub.clock.advance(ONCE_SLOW_MS)
    expect((await Promise.all(answers)).every(({ result }) => result?.resultType === 'task')).toBe(true)
    expect((await stage.call('slow')).result).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'RATE_LIMITED' } },
    })
    stage.work.resolve('all done')
    await expect.poll(async () => (await stage.call('slow')).result?.resultType).toBe('complete')
  })

  it('goes on when the request that made it is long gone', async () => {
    const stage = await open()
    const taskId = await becomeTask(stage, 'slow')
    await stage.hub.clock.advance(10_000)
    stage.work.resolve('done meanwhile')
    await expect.poll(async () => (await stage.look('get', taskId)).result?.status).toBe('completed')
  })
})

describe('a client', () => {
  it('that cannot follow tasks waits, unless the tool can only be followed', async () => {
    const { front, work } = await open()
    work.resolve('waited')
    const call = (name: string) => ask(front, 'worker', { method: 'tools/call', name, params: { name } })
    expect((await call('slow')).result).toMatchObject({ resultType: 'complete', content: [{ text: 'waited' }] })
    expect(await call('only_followed')).toMatchObject({
      status: 400,
      error: {
        code: -32021,
        data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
      },
    })
    expect(await ask(front, 'worker', { method: 'tasks/get', name: 'op_1', params: { taskId: 'op_1' } })).toMatchObject(
      {
        error: { code: -32021 },
      },
    )
  })

  it('from before tasks waits for any tool', async () => {
    const { front, work } = await open()
    work.resolve('waited')
    const client = await connect(front, 'worker', 'legacy')
    expect(await client.callTool({ name: 'only_followed', arguments: {} })).toMatchObject({
      content: [{ text: 'waited' }],
    })
  })

  it('may ask for a task where the tool says nothing', async () => {
    const stage = await open()
    const answer = stage.call('ordinary', { _meta: { 'quartermaster/asTask': true } })
    await expect.poll(() => stage.hub.operations.running().length).toBeGreaterThan(0)
    await stage.hub.clock.advance(ONCE_SLOW_MS)
    expect((await answer).result).toMatchObject({ resultType: 'task' })
  })

  it('that says another name in its header than in its body is refused', async () => {
    const { front } = await open()
    const headers = { 'mcp-name': 'op_2' }
    const request = { method: 'tasks/get', params: { taskId: 'op_1' }, capabilities: CAN_FOLLOW, headers }
    expect(await ask(front, 'worker', request)).toMatchObject({ status: 400, error: { code: -32020 } })
  })
})
