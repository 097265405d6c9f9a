import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type AnyTool, defineTool, toolResult } from '../../core/catalogue/index.ts'
import { createPruner } from '../../core/operations/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { memoryStorage } from '../../testing/memory-store.ts'
import { silentLog } from '../system/index.ts'
import { ask, frontOf } from './testing/front.ts'

const LARGE = 'y'.repeat(50_000)
const FOLLOWS = { extensions: { 'io.modelcontextprotocol/tasks': {} } }

interface Told {
  content: { type: string; text?: string; uri?: string }[]
  isError?: boolean
  _meta: Record<string, unknown>
}

async function open(tools: readonly AnyTool[]) {
  const storage = memoryStorage()
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', tools)] } },
    agents: { worker: { capabilities: { main: {} } } },
    storage,
  })
  const front = frontOf(hub)
  const send = (method: string, name: string, params: object) =>
    ask(front, 'worker', { method, name, params: { ...params }, capabilities: FOLLOWS })
  const call = async (name: string) => (await send('tools/call', name, { name, arguments: {} })).result
  const task = (taskId: string) => send('tasks/get', taskId, { taskId })
  const read = async (uri: string) => (await send('resources/read', uri, { uri })).result
  return { hub, call, task, read, store: storage.store }
}

describe('a result that is too large to hand over at once', () => {
  it('says in its text at which address it goes on, and links there', async () => {
    const { call, read } = await open([simpleTool('gives', { maxResultBytes: 5_000, handler: () => LARGE })])
    const { content, isError } = (await call('gives')) as unknown as Told
    const link = content.at(-1)
    expect(link).toMatchObject({ type: 'resource_link', uri: expect.stringMatching(/^quartermaster:\/\/results\/op_/) })
    expect(content.at(-2)?.text).toBe(`[Read on at the resource ${link?.uri}.]`)
    expect(isError).toBeUndefined()
    expect(await read(link?.uri as string)).toMatchObject({ contents: [{ text: LARGE.slice(0, 5_000) }] })
  })

  it('says first of all that its tool succeeded where it has to be marked as an error', async () => {
    const output = z.object({ text: z.string() })
    const handler = () => ({ text: LARGE })
    const pays = defineTool({
      name: 'pays',
      short: 'x',
      input: { type: 'object' },
      maxResultBytes: 5_000,
      output,
      handler,
    })
    const { call, store } = await open([pays])
    const { content, isError } = (await call('pays')) as unknown as Told
    expect(isError).toBe(true)
    expect(content[0]?.text).toMatch(/^"pays" succeeded\. .*Do not call it again for this/)
    expect(await store.find('operations', {})).toMatchObject([{ state: 'succeeded', outcome: 'succeeded' }])
  })

  it('says the same where a picture is left out that its structure repeats', async () => {
    const data = 'A'.repeat(11_000)
    const draws = defineTool({
      name: 'draws',
      short: 'x',
      input: { type: 'object' },
      maxResultBytes: 5_000,
      maxBinaryBytes: 10_000,
      output: { type: 'object', properties: { data: { type: 'string', pattern: '^[A-Z]+$' } } },
      handler: () =>
        toolResult({ content: [{ type: 'image', data, mimeType: 'image/png' }], structuredContent: { data } }),
    })
    const { call } = await open([draws])
    const told = (await call('draws')) as unknown as Told
    expect(told).toMatchObject({ isError: true, _meta: { 'quartermaster/succeeded': true } })
    expect(told).not.toHaveProperty('structuredContent')
    const left = expect.stringContaining('is left out')
    expect(told.content.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^"draws" succeeded\. .*Do not call it again for this/),
      left,
      left,
    ])
  })

  /** Has a tool run as a task, and answers with what it gave. */
  async function taskOf(tool: Partial<AnyTool>, output: unknown) {
    const work = deferred<unknown>()
    const slow = simpleTool('slow', { asTask: 'whenPossible', maxResultBytes: 5_000, ...tool })
    const { hub, call, task, read, store } = await open([{ ...slow, handler: () => work.promise }])
    const answer = call('slow')
    await expect.poll(() => hub.operations.running().length).toBe(1)
    await hub.clock.advance(101)
    const taskId = (await answer)?.taskId as string
    work.resolve(output)
    await expect.poll(async () => (await task(taskId)).result?.status).toBe('completed')
    const told = async () => ((await task(taskId)).result as unknown as { result: Told }).result
    return { result: await told(), told, hub, taskId, read, store }
  }

  it.each([
    ['is cut', { text: LARGE }, 'read on below.'],
    [
      'has a picture left out',
      toolResult({
        content: [{ type: 'image', data: LARGE, mimeType: 'image/png' }],
        structuredContent: { text: LARGE },
      }),
      'what was left out is said below.',
    ],
  ])('is marked as the result of a task as well where it %s and has no structure', async (_how, output, next) => {
    const promised = { type: 'object', properties: { text: { type: 'string' } } }
    const { result, taskId } = await taskOf({ output: promised, maxBinaryBytes: 10_000 }, output)
    expect(result).not.toHaveProperty('structuredContent')
    expect(result).toMatchObject({ isError: true })
    expect(result._meta).toEqual({ 'quartermaster/operationId': taskId, 'quartermaster/succeeded': true })
    expect(result.content[0]?.text).toMatch(/^"slow" succeeded\. .*Do not call it again for this/)
    expect(result.content[0]?.text).toContain(next)
  })

  it.each([
    ['where it promised one', { output: { type: 'object' } }, true, 'cannot be returned in full'],
    ['and where it did not', {}, undefined, 'was dropped to make room'],
  ])(
    'is told as the result of a task when its picture was dropped for room, %s',
    async (_how, tool, isError, first) => {
      const data = 'A'.repeat(2_000)
      const picture = { type: 'image' as const, data, mimeType: 'image/png' }
      const given = toolResult({ content: [picture], structuredContent: { data } })
      const { told, taskId, store, hub } = await taskOf(tool, given)
      const settings = { storedResultsBytes: 0, auditDays: 1 }
      const pruner = createPruner({ store, clock: hub.clock, log: silentLog, settings })
      pruner.start()
      await expect.poll(async () => JSON.stringify(await told())).toContain('was dropped to make room')
      await pruner.stop()
      const result = await told()
      expect(result).not.toHaveProperty('structuredContent')
      expect(result.isError).toBe(isError)
      expect(result.content[0]?.text).toContain(first)
      expect((await hub.operations.find('default', taskId)).result).not.toHaveProperty('_meta')
    },
  )

  it('goes on in the same way when it is the result of a task', async () => {
    const { result, taskId, read } = await taskOf({}, LARGE)
    const uri = `quartermaster://results/${taskId}?offset=5000`
    expect(result.content.slice(-2)).toMatchObject([
      { text: `[Read on at the resource ${uri}.]` },
      { type: 'resource_link', uri },
    ])
    expect(result._meta).toEqual({ 'quartermaster/operationId': taskId })
    expect(await read(uri)).toMatchObject({ contents: [{ text: LARGE.slice(0, 5_000) }] })
  })
})

describe('the record of a call that was no task', () => {
  it('cannot be followed as one', async () => {
    const { call, task } = await open([simpleTool('changes', { mutates: true })])
    const { _meta } = (await call('changes')) as unknown as Told
    const { error, result } = await task(_meta['quartermaster/operationId'] as string)
    expect(result).toBeUndefined()
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('There is no task') })
  })
})
