import { describe, expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { frontOf } from './testing/front.ts'
import { openRawSession } from './testing/raw-session.ts'

async function open(directCalls: boolean) {
  const entered = deferred<AbortSignal>()
  const finished = deferred()
  const asks = simpleTool('asks', {
    async handler(_input: never, { signal, ask }) {
      entered.resolve(signal)
      return (await ask({ message: 'Sure?' })).action
    },
  })
  const waits = simpleTool('waits', { handler: () => finished.promise.then(() => 'done') })
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', [asks, waits])] } },
    agents: { worker: { capabilities: { main: {} } } },
    settings: { directCalls },
  })
  const front = frontOf(hub)
  const session = await openRawSession(front, { capabilities: { elicitation: { form: {} } } })
  return { front, session, entered: entered.promise, finish: finished.resolve }
}

const call = (id: number, name: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })
const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' })

describe.each([true, false])('a call that asks, with our own way for calls: %s', directCalls => {
  it.each([
    ['first', []],
    ['after a batch', [[ping(1), ping(2)]]],
    ['after a batch with a request of the same id', [[ping(1), ping(7)]]],
  ])('leaves nothing open when it is cancelled before anybody has answered, %s', async (_when, batches) => {
    const { front, session, entered } = await open(directCalls)
    for (const batch of batches) await session.ask(batch)
    const answer = await session.post(call(7, 'asks'))
    const signal = await entered
    const text = answer.text()
    expect((await session.cancel(7)).status).toBe(202)
    await expect.poll(() => signal.aborted).toBe(true)
    await expect.poll(() => front.counts()).toEqual({ sessions: 1, streams: 0, requests: 0 })
    await text
  })

  it('ends the answer to none of those that it came with when it is cancelled', async () => {
    const { session, entered, finish } = await open(directCalls)
    const answer = await session.post([call(7, 'asks'), call(8, 'waits')])
    const signal = await entered
    expect((await session.cancel(7)).status).toBe(202)
    await expect.poll(() => signal.aborted).toBe(true)
    finish()
    let text = ''
    for await (const part of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part
      if (text.includes('"id":8')) break
    }
    expect(text).toContain('done')
  })
})
