import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { ask, frontOf } from './testing/front.ts'

const CAPABILITIES = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** Tools that are slow enough to become tasks, and whoever is told of their ends, if anybody hears. */
async function open({ isHeard = true } = {}) {
  const clock = createFakeClock()
  const told: string[] = []
  const later = (ms: number) => new Promise<void>(resolve => clock.after(ms, resolve))
  const slow = simpleTool('slow', {
    mutates: true,
    asTask: 'whenPossible',
    handler: async () => (await later(5_000), 'done'),
  })
  const asks = simpleTool('asks', {
    mutates: true,
    asTask: 'whenPossible',
    async handler(_input: never, context) {
      await later(1_000)
      const enough = new AbortController()
      clock.after(5_000, () => enough.abort(new Error('It takes too long.')))
      await context.ask({ message: 'Sure?' }, { signal: enough.signal }).catch(() => {})
      return 'done'
    },
  })
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [slow, asks])] } },
    agents: { ada: { capabilities: { main: {} } } },
    clock,
    tellEnd({ tool, state }) {
      told.push(`${tool} ${state}`)
      return isHeard
    },
  })
  hub.work()
  const front = frontOf(hub)
  const send = (method: string, name: string, params: object) =>
    ask(front, 'ada', { method, name, params: { ...params }, capabilities: CAPABILITIES })
  async function begin(name: string): Promise<string> {
    const called = send('tools/call', name, { name, arguments: {} })
    // Enough to become a task; nothing else tells that it is on record.
    for (let looks = 0; looks < 20; looks++) await clock.breathe()
    await clock.advance(3_000)
    return ((await called).result as { taskId: string }).taskId
  }
  return { hub, clock, told, begin, send }
}

describe('the end of a task', () => {
  it('that asked, and whose question was taken back, is told at once', async () => {
    const { clock, told, begin } = await open()
    await begin('asks')
    await clock.advance(20_000)
    expect(told).toEqual(['asks succeeded'])
  })

  it.each(['tasks/cancel', 'tasks/update'])('is not heard by a client that only says %s', async method => {
    const { hub, clock, begin, send } = await open({ isHeard: false })
    const taskId = await begin('slow')
    await clock.advance(4_000)
    await send(method, taskId, { taskId, inputResponses: {} })
    await clock.advance(3_000)
    const facts = await hub.operations.find('default', taskId)
    expect([facts.state, facts.announcedAt]).toEqual(['succeeded', undefined])
  })

  it('is heard by a client that gets it', async () => {
    const { hub, clock, begin, send } = await open({ isHeard: false })
    const taskId = await begin('slow')
    await clock.advance(4_000)
    await send('tasks/get', taskId, { taskId })
    await clock.advance(3_000)
    expect(await hub.operations.find('default', taskId)).toMatchObject({ announcedAt: expect.any(Number) })
  })
})
