import { expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { ask, frontOf } from './testing/front.ts'

async function open() {
  const runs: string[] = []
  const work = deferred<void>()
  const tool = simpleTool('writes', {
    mutates: true,
    async handler(_input: never, context) {
      const { action } = await context.ask({ key: 'sure', message: 'Sure?' })
      runs.push(action)
      await work.promise
      return `written ${runs.length} times`
    },
  })
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', [tool])] } },
    agents: { worker: { capabilities: { main: {} } }, stranger: { capabilities: { main: {} } } },
  })
  const front = frontOf(hub)
  const call = (params: object = {}, agent = 'worker') =>
    ask(front, agent, {
      method: 'tools/call',
      name: 'writes',
      params: { name: 'writes', ...params },
      capabilities: { elicitation: {} },
    })
  const { result } = await call()
  const answered = { requestState: result?.requestState, inputResponses: { sure: { action: 'accept', content: {} } } }
  return { hub, call, runs, work, answered }
}

it('joins a repeated answer to the call it belongs to, while it runs and after its end', async () => {
  const { call, runs, work, answered } = await open()
  const first = call(answered)
  await expect.poll(() => runs).toEqual(['accept'])
  const again = call(answered)
  work.resolve()
  const done = { content: [{ type: 'text', text: 'written 1 times' }] }
  expect((await first).result).toMatchObject(done)
  expect((await again).result).toMatchObject(done)
  expect((await call(answered)).result).toMatchObject(done)
  expect(runs).toHaveLength(1)
})

it('never takes an answer to one question for an answer to the next', async () => {
  const twice = simpleTool('twice', {
    async handler(_input: never, context) {
      const first = await context.ask({ message: 'Clean up?' })
      const second = await context.ask({ message: 'Really delete everything?' })
      return `${first.action} and ${second.action}`
    },
  })
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', [twice])] } },
    agents: { worker: { capabilities: { main: {} } } },
  })
  const front = frontOf(hub)
  const call = (params: object = {}) =>
    ask(front, 'worker', {
      method: 'tools/call',
      name: 'twice',
      params: { name: 'twice', ...params },
      capabilities: { elicitation: {} },
    })
  const answer = (action: string) => ({ inputResponses: { answer: { action, content: {} } } })
  const first = (await call()).result
  const second = (await call({ requestState: first?.requestState, ...answer('accept') })).result
  const repeated = (await call({ requestState: first?.requestState, ...answer('accept') })).result
  expect(repeated).toMatchObject({ resultType: 'input_required', inputRequests: second?.inputRequests })
  const done = await call({ requestState: repeated?.requestState, ...answer('decline') })
  expect(done.result).toMatchObject({ content: [{ text: 'accept and decline' }] })
})

it('goes on with a call only for whoever made it, with the same arguments', async () => {
  const { call, runs, answered } = await open()
  expect((await call(answered, 'stranger')).result).toMatchObject({
    structuredContent: { error: { code: 'CURSOR_GONE' } },
  })
  expect((await call({ ...answered, arguments: { other: true } })).result).toMatchObject({
    structuredContent: { error: { code: 'CURSOR_GONE' } },
  })
  expect(runs).toEqual([])
})
