import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ToolMessage } from '@langchain/core/messages'
import { RunContext } from '@openai/agents'
import { expect, it, onTestFinished } from 'vitest'
import { aiTools } from '../../src/ai.ts'
import { createQuartermaster, type Toolbox } from '../../src/index.ts'
import { langchainTools } from '../../src/langchain.ts'
import { agentTools, answerFunctionCalls, functionTools } from '../../src/openai.ts'
import { lastOutput } from '../support/ai-output.ts'
import { makeProject } from '../support/product.ts'

const capability = (key: string) => `
  import { defineCapability, defineTool } from 'quartermaster'
  const input = { type: 'object', properties: {} }
  const rest = (_, { signal, progress }) => new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason)); progress({ progress: 1 })
  })
  export default defineCapability({ key: '${key}', short: '${key}.', tools: [
    defineTool({ name: '${key}_say', short: 'Says.', input, mutates: false, handler: () => 'hello' }),
    defineTool({ name: '${key}_rest', short: 'Rests.', input, mutates: false, handler: rest }),
  ] })
`

/** How a framework holds tools that it was handed once. */
interface Held {
  readonly names: readonly string[]
  /** What its model would read. */
  call(name: string): Promise<string>
  /** The same for a cancelling caller. */
  cancel(name: string, signal: AbortSignal): Promise<unknown>
}

const FRAMEWORKS: Readonly<Record<string, (toolbox: Toolbox) => Promise<Held>>> = {
  async LangChain(toolbox) {
    const tools = await langchainTools(toolbox)
    const invoke = (name: string, config = {}): Promise<unknown> =>
      Promise.resolve(
        tools.find(tool => tool.name === name)?.invoke({ type: 'tool_call', id: 'call_1', name, args: {} }, config),
      )
    return {
      names: tools.map(({ name }) => name),
      async call(name) {
        const answer = await invoke(name)
        return ToolMessage.isInstance(answer) ? String(answer.content) : ''
      },
      cancel: (name, signal) => invoke(name, { signal }),
    }
  },
  async 'the AI SDK'(toolbox) {
    const tools = await aiTools(toolbox)
    const run = (name: string, more = {}) => lastOutput(tools[name], {}, more)
    return {
      names: Object.keys(tools),
      async call(name) {
        const output = await run(name)
        return JSON.stringify(await tools[name]?.toModelOutput?.({ toolCallId: 'call_1', input: {}, output } as never))
      },
      cancel: (name, abortSignal) => run(name, { abortSignal }),
    }
  },
  async 'OpenAI functions'(toolbox) {
    const tools = await functionTools(toolbox)
    const call = async (name: string, options = {}) => {
      const asked = { type: 'function_call', call_id: 'call_1', name, arguments: '{}' }
      return String((await answerFunctionCalls(toolbox, [asked], options))[0]?.output)
    }
    return {
      names: tools.map(({ name }) => name),
      call: name => call(name),
      cancel: (name, signal) => call(name, { signal }),
    }
  },
  async 'the OpenAI Agents SDK'(toolbox) {
    const tools = await agentTools(toolbox)
    const invoke = (name: string, details = {}) =>
      Promise.resolve(tools.find(tool => tool.name === name)?.invoke(new RunContext(), '{}', details))
    return {
      names: tools.map(({ name }) => name),
      call: async name => String(await invoke(name)),
      cancel: (name, signal) => invoke(name, { signal }),
    }
  },
}

it.each(Object.entries(FRAMEWORKS))('%s holds tools that come and go, and cancels', async (_name, hand) => {
  const dir = await makeProject({
    'capabilities/first.ts': capability('first'),
    'agents/worker.json': '{ "capabilities": { "first": {} } }',
  })
  const host = await createQuartermaster({ dir, env: {} })
  onTestFinished(() => host.stop())
  const toolbox = host.toolbox('worker')
  const held = await hand(toolbox)
  expect(held.names).toEqual(['first_say', 'first_rest'])
  expect(await held.call('first_say')).toContain('hello')

  const abort = new AbortController()
  const resting = held.cancel('first_rest', abort.signal)
  abort.abort()
  await expect(resting).rejects.toThrow()

  let changes = 0
  toolbox.onChange(() => changes++)
  await writeFile(join(dir, 'capabilities/second.ts'), capability('second'))
  await writeFile(join(dir, 'agents/worker.json'), '{ "capabilities": { "second": {} } }')
  await rm(join(dir, 'capabilities/first.ts'))
  await host.reload()
  await expect.poll(() => changes).toBeGreaterThan(0)
  // What was handed out before is still held, and its model reads that it has gone.
  expect(await held.call('first_say')).toContain('TOOL_NOT_FOUND')
  const next = await hand(toolbox)
  expect(next.names).toEqual(['second_say', 'second_rest'])
  expect(await next.call('second_say')).toContain('hello')
})
