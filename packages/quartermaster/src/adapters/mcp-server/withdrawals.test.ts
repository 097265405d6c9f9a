import { describe, expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { createHub, simpleCapability, simplePrompt, simpleTool } from '../../testing/hub.ts'
import { connect, frontOf } from './testing/front.ts'

interface Asking {
  ask(question: { message: string }): Promise<unknown>
}

/** A client from before 2026-07-28 whose person is asked something, and thinks until it is withdrawn. */
async function open(directCalls: boolean) {
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
async function openAsking(directCalls: boolean, ask: (asking: Wanting, doubt: AbortSignal) => Promise<string>) {
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

interface Wanting {
  ask(question: { message: string }, options?: { signal: AbortSignal }): Promise<{ action: string }>
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
    const { client, thinking, gone } = await open(directCalls)
    const call = client.callTool({ name: 'asks', arguments: {} })
    const signal = await thinking
    gone.resolve('nobody wants to know any more')
    expect(await call).toMatchObject({ content: [{ text: 'nobody wants to know any more' }] })
    await expect.poll(() => signal.aborted).toBe(true)
  })

  it('is withdrawn also when the call fails', async () => {
    const { client, thinking, gone } = await open(directCalls)
    const call = client.callTool({ name: 'asks', arguments: {} })
    const signal = await thinking
    gone.reject(new Error('It fell over.'))
    expect(await call).toMatchObject({ isError: true })
    await expect.poll(() => signal.aborted).toBe(true)
  })

  it('is withdrawn of a prompt too', async () => {
    const { client, thinking, gone } = await open(directCalls)
    const prompt = client.getPrompt({ name: 'asking' })
    const signal = await thinking
    gone.resolve('never mind')
    expect(JSON.stringify(await prompt)).toContain('never mind')
    await expect.poll(() => signal.aborted).toBe(true)
  })
})
