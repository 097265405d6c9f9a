import { describe, expect, it } from 'vitest'
import type { Answer, Question } from '../../contracts/index.ts'
import { ANSWER_SECONDS } from '../../core/operations/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createHub, simpleCapability, simplePrompt, simpleResource, simpleTool } from '../../testing/hub.ts'
import { connect, frontOf } from './testing/front.ts'
import { openRawSession } from './testing/raw-session.ts'

const MESSAGES = [{ role: 'user' as const, content: { type: 'text', text: 'Hello' } }]
const QUESTIONS = {
  form: { message: 'Sure?' },
  url: { kind: 'url', message: 'Sign in.', url: 'https://example.org/' },
  model: { kind: 'model', messages: MESSAGES, maxTokens: 10 },
  roots: { kind: 'roots' },
} satisfies Record<string, Question>

const ALL = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

interface Asking {
  ask(question: Question, options?: { signal: AbortSignal }): Promise<Answer>
}

/** A tool, a prompt and a resource that ask in one round after the other, and answer with what was said. */
async function open(directCalls: boolean, ...rounds: readonly Question[][]) {
  const told: Answer[] = []
  const put = async ({ ask }: Asking) => {
    for (const questions of rounds) told.push(...(await Promise.all(questions.map(one => ask(one)))))
    return told.map(({ action }) => action).join()
  }
  const parts = {
    prompts: [simplePrompt('asking', { render: (_args: never, context) => put(context) })],
    resources: [simpleResource('docs://asking', { read: (_request: never, context) => put(context) })],
  }
  const asks = simpleTool('asks', { mutates: true, handler: (_input: never, context) => put(context) })
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', [asks], parts)] } },
    agents: { worker: { capabilities: { main: {} } } },
    settings: { directCalls },
  })
  return { hub, told, front: frontOf(hub) }
}

const OPERATION = { 'quartermaster/operationId': expect.any(String) }

describe.each([true, false])('a client that fails to answer in its session (calls past the SDK: %s)', directCalls => {
  it('with errors has said no, each time', async () => {
    const { form, url, model, roots } = QUESTIONS
    const { hub, front } = await open(directCalls, [form], [url], [model], [roots])
    // It knows of none of these methods, whatever it says.
    const client = await connect(front, 'worker', 'legacy', { capabilities: ALL })
    expect(await client.callTool({ name: 'asks', arguments: {} })).toMatchObject({
      content: [{ text: 'cancel,cancel,decline,decline' }],
      _meta: OPERATION,
    })
    expect(hub.operations.running()).toEqual([])
  })

  it('has said no to that question alone of several', async () => {
    const { front } = await open(directCalls, [QUESTIONS.form, QUESTIONS.model])
    const client = await connect(front, 'worker', 'legacy', { capabilities: ALL })
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }))
    expect(await client.callTool({ name: 'asks', arguments: {} })).toMatchObject({
      content: [{ text: 'accept,decline' }],
    })
  })

  it.each([
    ['with something that is no answer', { result: { action: 'perhaps' } }],
    ['with nothing', { result: {} }],
    ['with an error', { error: { code: -1, message: 'No.' } }],
  ])('%s has said no', async (_how, said) => {
    const { front } = await open(directCalls, [QUESTIONS.form])
    const session = await openRawSession(front, { capabilities: ALL, answer: said })
    const { messages } = await session.call({ name: 'asks' })
    expect(messages.at(-1)).toMatchObject({ id: 7, result: { content: [{ text: 'cancel' }], _meta: OPERATION } })
  })

  it('for too long has its call ended, and is told under which id', async () => {
    const { hub, front, told } = await open(directCalls, [QUESTIONS.form])
    const client = await connect(front, 'worker', 'legacy', { capabilities: ALL })
    const asked = deferred<void>()
    client.setRequestHandler('elicitation/create', () => {
      asked.resolve()
      return new Promise(() => {})
    })
    const call = client.callTool({ name: 'asks', arguments: {} })
    await asked.promise
    await hub.clock.advance(ANSWER_SECONDS * 1000)
    expect(await call).toMatchObject({
      isError: true,
      _meta: { ...OPERATION, 'quartermaster/error': { code: 'OUTCOME_UNKNOWN' } },
    })
    expect([hub.operations.running(), told]).toEqual([[], []])
  })

  it('because it went away has said no', async () => {
    const { hub, front, told } = await open(directCalls, [QUESTIONS.form], [QUESTIONS.model])
    const session = await openRawSession(front, { capabilities: ALL })
    const client = new AbortController()
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'asks' } }
    const { body } = await session.post(message, {}, { signal: client.signal })
    const reader = body?.getReader()
    await reader?.read()
    client.abort()
    await reader?.cancel().catch(() => {})
    await expect.poll(() => hub.operations.running()).toEqual([])
    expect(told).toEqual([{ action: 'cancel' }, { action: 'decline' }])
  })

  it('is not asked for ever', async () => {
    const { hub, front, told } = await open(directCalls, ...Array.from({ length: 100 }, () => [QUESTIONS.form]))
    const session = await openRawSession(front, { capabilities: ALL })
    const { messages } = await session.call({ name: 'asks' })
    expect(messages.at(-1)).toMatchObject({
      result: { isError: true, _meta: { 'quartermaster/error': { code: 'OUTCOME_UNKNOWN' } } },
    })
    expect(told).toHaveLength(50)
    expect(hub.operations.running()).toEqual([])
  })
})

describe('a client that answers with an error in its session', () => {
  it('has said no to a prompt and to a resource too', async () => {
    const { front } = await open(true, [QUESTIONS.form])
    const client = await connect(front, 'worker', 'legacy', { capabilities: ALL })
    expect(JSON.stringify(await client.getPrompt({ name: 'asking' }))).toContain('"cancel"')
    expect(JSON.stringify(await client.readResource({ uri: 'docs://asking' }))).toContain('"cancel,cancel"')
  })
})

describe.each(['auto', 'legacy'] as const)('a client of the era %s whose model cannot use tools', era => {
  it('is not asked for that', async () => {
    const { hub, front } = await open(true, [{ ...QUESTIONS.model, tools: [], toolChoice: { mode: 'none' } }])
    const client = await connect(front, 'worker', era, { capabilities: ALL })
    const end = await client.callTool({ name: 'asks', arguments: {} }).catch(error => error)
    expect(JSON.stringify([end.message, end.data, end])).toContain('sampling.tools')
    expect(hub.operations.running()).toEqual([])
  })
})

/** A client from before 2026-07-28 whose person is asked something, and thinks until it is withdrawn. */
async function openThinking(directCalls: boolean) {
  const gone = deferred<string>()
  const askUntilGone = async ({ ask }: Asking) => {
    await Promise.race([gone.promise, ask({ message: 'Sure?' })])
    return gone.promise
  }
  const tool = simpleTool('asks', { handler: (_input: never, context) => askUntilGone(context) })
  const prompt = simplePrompt('asking', { render: (_args: never, context) => askUntilGone(context) })
  const capability = { ...simpleCapability('main', [tool]), prompts: [prompt] }
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [capability] } },
    agents: { worker: { capabilities: { main: {} } } },
    settings: { directCalls },
  })
  const client = await connect(frontOf(hub), 'worker', 'legacy', { capabilities: { elicitation: { form: {} } } })
  const thinking = deferred<AbortSignal>()
  client.setRequestHandler('elicitation/create', (_request, { mcpReq: { signal } }) => {
    thinking.resolve(signal)
    return new Promise(() => {})
  })
  return { client, thinking: thinking.promise, gone }
}

/** A client of that era whose person thinks about "First?" until it is withdrawn, and says yes to everything else. */
async function openAsking(directCalls: boolean, ask: (asking: Asking, doubt: AbortSignal) => Promise<string>) {
  const doubt = new AbortController()
  const tool = simpleTool('asks', { handler: (_input: never, context) => ask(context, doubt.signal) })
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', [tool])] } },
    agents: { worker: { capabilities: { main: {} } } },
    settings: { directCalls },
  })
  const client = await connect(frontOf(hub), 'worker', 'legacy', { capabilities: { elicitation: { form: {} } } })
  const thinking = deferred<AbortSignal>()
  client.setRequestHandler('elicitation/create', ({ params }, { mcpReq: { signal } }) => {
    if (params.message !== 'First?') return { action: 'accept', content: {} }
    thinking.resolve(signal)
    return new Promise(() => {})
  })
  return { call: client.callTool({ name: 'asks', arguments: {} }), thinking: thinking.promise, doubt }
}

describe.each([true, false])('a question that is taken back while its call goes on (past the SDK: %s)', directCalls => {
  it('is withdrawn, and answers nothing that is asked after it', async () => {
    const { call, thinking, doubt } = await openAsking(directCalls, async ({ ask }, signal) => {
      const first = await ask({ message: 'First?' }, { signal }).catch(error => error.message)
      return `${first}, ${(await ask({ message: 'Second?' })).action}`
    })
    const signal = await thinking
    doubt.abort(new Error('never mind'))
    expect(await call).toMatchObject({ content: [{ text: 'never mind, accept' }] })
    await expect.poll(() => signal.aborted).toBe(true)
  })

  it('is withdrawn alone of several', async () => {
    const { call, thinking, doubt } = await openAsking(directCalls, async ({ ask }, signal) => {
      const both = [ask({ message: 'Second?' }), ask({ message: 'First?' }, { signal })]
      const ends = await Promise.allSettled(both)
      return ends.map(end => (end.status === 'fulfilled' ? end.value.action : end.reason.message)).join()
    })
    const signal = await thinking
    doubt.abort(new Error('never mind'))
    expect(await call).toMatchObject({ content: [{ text: 'accept,never mind' }] })
    await expect.poll(() => signal.aborted).toBe(true)
  })
})

describe.each([true, false])('a question of a call that is over (calls past the SDK: %s)', directCalls => {
  it('is withdrawn, and the call answered without it', async () => {
    const { client, thinking, gone } = await openThinking(directCalls)
    const call = client.callTool({ name: 'asks', arguments: {} })
    const signal = await thinking
    gone.resolve('nobody wants to know any more')
    expect(await call).toMatchObject({ content: [{ text: 'nobody wants to know any more' }] })
    await expect.poll(() => signal.aborted).toBe(true)
  })

  it('is withdrawn also when the call fails', async () => {
    const { client, thinking, gone } = await openThinking(directCalls)
    const call = client.callTool({ name: 'asks', arguments: {} })
    const signal = await thinking
    gone.reject(new Error('It fell over.'))
    expect(await call).toMatchObject({ isError: true })
    await expect.poll(() => signal.aborted).toBe(true)
  })

  it('is withdrawn of a prompt too', async () => {
    const { client, thinking, gone } = await openThinking(directCalls)
    const prompt = client.getPrompt({ name: 'asking' })
    const signal = await thinking
    gone.resolve('never mind')
    expect(JSON.stringify(await prompt)).toContain('never mind')
    await expect.poll(() => signal.aborted).toBe(true)
  })
})
