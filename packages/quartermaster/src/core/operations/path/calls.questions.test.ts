import { expect, it } from 'vitest'
import type { Answer } from '../../../contracts/index.ts'
import { createHub, simpleCapability } from '../../../testing/hub.ts'
import { type AnyTool, type CallContext, defineTool } from '../../catalogue/index.ts'

function hubWith(tools: readonly AnyTool[]) {
  return createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', tools)] } },
    agents: { worker: { capabilities: { main: {} } } },
  })
}

function tool(name: string, handler: (context: CallContext) => unknown) {
  const input = { type: 'object' } as const
  const run = (_input: unknown, context: CallContext) => handler(context)
  return defineTool({ name, short: 'x', input, mutates: false, timeoutMs: 1_000, handler: run })
}

/** Asks, and waits for no answer. */
const hasty = tool('hasty', ({ ask }) => {
  void ask({ message: 'Which one?' })
  return 'done'
})

/** Who takes a question, and never answers it. */
function silentPerson() {
  const signals: AbortSignal[] = []
  const ask = (_question: unknown, signal: AbortSignal): Promise<Answer> => {
    signals.push(signal)
    return new Promise(() => {})
  }
  return { signals, ask }
}

it('takes a question back when the call is over that did not wait for its answer', async () => {
  const hub = await hubWith([hasty])
  const { signals, ask } = silentPerson()
  const { result } = await hub.callAs('worker', 'hasty', {}, { ask })
  expect(result.content).toEqual([{ type: 'text', text: 'done' }])
  await hub.clock.breathe()
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
})

it('lets the time of a call go on when one inside it has left a question open', async () => {
  const outer = tool('outer', async ({ call }) => {
    await call('hasty', {})
    return new Promise(() => {})
  })
  const hub = await hubWith([outer, hasty])
  const { ask } = silentPerson()
  const call = hub.callAs('worker', 'outer', {}, { ask })
  call.catch(() => {})
  await hub.clock.advance(1_001)
  const ended = await Promise.race([call.catch(error => error.code), hub.clock.breathe().then(() => 'still running')])
  expect(ended).toBe('DEADLINE_EXCEEDED')
})
