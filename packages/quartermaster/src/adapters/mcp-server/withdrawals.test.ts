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
