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
    units: { 'main.ts': { capabilities: [simpleCapability('main', [tool, simpleTool('other')])] } },
    agents: { worker: { capabilities: { main: {} } }, stranger: { capabilities: { main: {} } } },
  })
  const front = frontOf(hub)
  const call = ({ name = 'writes', ...params }: { name?: string; [more: string]: unknown } = {}, agent = 'worker') =>
    ask(front, agent, {
      method: 'tools/call',
      name,
      params: { name, ...params },
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

it('refuses another answer under a state that was used, while the call runs and after its end', async () => {
  const { call, runs, work, answered } = await open()
  const other = { ...answered, inputResponses: { sure: { action: 'decline' } } }
  const refused = { structuredContent: { error: { code: 'REQUEST_REFUSED' } } }
  const first = call(answered)
  await expect.poll(() => runs).toEqual(['accept'])
  expect((await call(other)).result).toMatchObject(refused)
  work.resolve()
  expect((await first).result).toMatchObject({ content: [{ text: 'written 1 times' }] })
  expect((await call(other)).result).toMatchObject(refused)
  expect(runs).toEqual(['accept'])
})

it('takes a right answer after one that was none, under the same state', async () => {
  const { call, work, answered } = await open()
  work.resolve()
  const strange = { ...answered, inputResponses: { other: { action: 'accept', content: {} } } }
  expect((await call(strange)).result).toMatchObject({ resultType: 'input_required' })
  expect((await call(answered)).result).toMatchObject({ content: [{ text: 'written 1 times' }] })
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
  // Either of the two that asked the same goes on with it.
  const done = await call({ requestState: second?.requestState, ...answer('decline') })
  expect(done.result).toMatchObject({ content: [{ text: 'accept and decline' }] })
  const again = await call({ requestState: repeated?.requestState, ...answer('decline') })
  expect(again.result).toMatchObject({ content: [{ text: 'accept and decline' }] })
  // What the client has gone on from is over, also with what it said then.
  const late = await call({ requestState: first?.requestState, ...answer('accept') })
  expect(late.result).toMatchObject({ structuredContent: { error: { code: 'CURSOR_GONE' } } })
})

it('goes on with a call only for whoever made it, of the same tool, with the same arguments', async () => {
  const { call, runs, answered } = await open()
  expect((await call({ ...answered, name: 'other' })).result).toMatchObject({
    structuredContent: { error: { code: 'CURSOR_GONE' } },
  })
  expect((await call(answered, 'stranger')).result).toMatchObject({
    structuredContent: { error: { code: 'CURSOR_GONE' } },
  })
  expect((await call({ ...answered, arguments: { other: true } })).result).toMatchObject({
    structuredContent: { error: { code: 'CURSOR_GONE' } },
  })
  expect(runs).toEqual([])
})

it.each([604, 3_600])('tells whoever answers %i s after they were asked how the call ended', async seconds => {
  const { hub, call, runs, answered } = await open()
  await hub.clock.advance(seconds * 1000)
  expect((await call(answered)).result).toMatchObject({
    isError: true,
    structuredContent: { error: { code: 'OUTCOME_UNKNOWN', details: { operationId: expect.any(String) } } },
  })
  expect(runs).toEqual([])
})
