import { describe, expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { memoryStorage } from '../../testing/memory-store.ts'
import { ask, frontOf } from './testing/front.ts'
import { openRawSession } from './testing/raw-session.ts'

const MINUTE_MS = 60_000

/** A tool that asks its person before it changes something, and whoever is told of its ends. */
async function open(directCalls = true) {
  const answered = deferred<void>()
  const gate = deferred<void>()
  const told: string[] = []
  const storage = memoryStorage()
  const send = simpleTool('send', {
    mutates: true,
    async handler(_input: never, context) {
      await context.ask({ message: 'Sure?' })
      answered.resolve()
      await gate.promise
      return 'sent'
    },
  })
  const buy = simpleTool('buy', { mutates: true, consent: ['shop.buy'], handler: () => 'order 4711' })
  const quick = simpleTool('quick', { mutates: true, asTask: 'whenPossible', handler: () => 'done at once' })
  const consentOperations = [{ name: 'shop.buy', reason: 'It buys.', weight: 'moderate' as const }]
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [send, buy, quick], { consentOperations })] } },
    agents: { worker: { capabilities: { main: {} }, consent: { allow: [], askClient: true } } },
    settings: { directCalls },
    storage,
    tellEnd: ({ tool, state }) => void told.push(`${tool} ${state}`),
  })
  hub.work()
  const rows = () => storage.store.find('operations', {})
  return { hub, front: frontOf(hub), told, rows, answered: answered.promise, finish: gate.resolve }
}

type Stage = Awaited<ReturnType<typeof open>>

/** A client from before 2026-07-28 that is being asked. */
async function askedInSession({ front }: Stage) {
  const session = await openRawSession(front, { capabilities: { elicitation: { form: {} } } })
  const client = new AbortController()
  const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'send' } }
  const { body } = await session.post(message, {}, { signal: client.signal })
  if (!body) throw new Error('There is no answer.')
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('elicitation/create')) text += (await reader.read()).value ?? ''
  const [, data = ''] = /^data: (.*elicitation.*)$/m.exec(text) ?? []
  const { id } = JSON.parse(data) as { id: string }
  return {
    session,
    accept: () => session.post({ jsonrpc: '2.0', id, result: { action: 'accept', content: {} } }),
    async leave() {
      client.abort()
      await reader.cancel().catch(() => {})
    },
  }
}

describe.each([
  ['our own', true],
  ['the SDK’s', false],
])('a call in a session that goes %s way, and asks its client', (_way, directCalls) => {
  it('has its agent told of the end, with the result, where the client answers and goes away', async () => {
    const stage = await open(directCalls)
    const client = await askedInSession(stage)
    await client.accept()
    await stage.answered
    await client.leave()
    stage.finish()
    await expect.poll(() => stage.hub.operations.running()).toEqual([])
    await stage.hub.clock.advance(2_000)
    expect(stage.told).toEqual(['send succeeded'])
    expect(await stage.rows()).toMatchObject([{ result: { content: [{ text: 'sent' }] } }])
  })

  it.each(['cancel', 'end'] as const)('has its agent told at once where the client says %s instead', async how => {
    const stage = await open(directCalls)
    const { session } = await askedInSession(stage)
    await (how === 'cancel' ? session.cancel(7) : session.end())
    await expect.poll(() => stage.hub.operations.running()).toEqual([])
    await stage.hub.clock.advance(2_000)
    expect(stage.told).toEqual(['send unknown'])
  })
})

const modern = (name: string, capabilities: object) => ({
  method: 'tools/call',
  name,
  params: { name, arguments: {} },
  capabilities,
})

describe('a call of 2026-07-28', () => {
  it('that somebody else allows keeps its result where its client never comes back for it', async () => {
    const { hub, front, told, rows } = await open()
    const { result } = await ask(front, 'worker', modern('buy', { elicitation: { form: {} } }))
    expect(result).toMatchObject({ resultType: 'input_required' })
    const [request] = await hub.consentServices('default').open()
    const by = { name: 'the owner', via: 'owner' } as const
    await hub.consentServices('default').answer(request?.id ?? '', { decision: 'allow', lasting: 'once' }, by)
    await hub.clock.advance(MINUTE_MS)
    expect(told).toEqual([])
    await hub.clock.advance(15 * MINUTE_MS)
    expect(told).toEqual(['buy succeeded'])
    expect(await rows()).toMatchObject([{ result: { content: [{ text: 'order 4711' }] } }])
  })

  it('that could have become a task is not told of where it was answered at once', async () => {
    const { hub, front, told } = await open()
    const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
    const { result } = await ask(front, 'worker', modern('quick', tasks))
    expect(result).toMatchObject({ content: [{ text: 'done at once' }] })
    await hub.clock.advance(2 * MINUTE_MS)
    expect(told).toEqual([])
  })
})
