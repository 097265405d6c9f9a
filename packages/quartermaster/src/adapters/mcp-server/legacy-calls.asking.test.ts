import { describe, expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { frontOf } from './testing/front.ts'
import { openRawSession } from './testing/raw-session.ts'

async function open(directCalls: boolean) {
  const entered = deferred<AbortSignal>()
  const asks = simpleTool('asks', {
    async handler(_input: never, { signal, ask }) {
      entered.resolve(signal)
      return (await ask({ message: 'Sure?' })).action
    },
  })
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', [asks])] } },
    agents: { worker: { capabilities: { main: {} } } },
    settings: { directCalls },
  })
  const front = frontOf(hub)
  const session = await openRawSession(front, { capabilities: { elicitation: { form: {} } } })
  return { front, session, entered: entered.promise }
}

describe.each([true, false])('a call that asks, with our own way for calls: %s', directCalls => {
  it('leaves nothing open when it is cancelled before anybody has answered', async () => {
    const { front, session, entered } = await open(directCalls)
    const answer = await session.post({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'asks' } })
    const signal = await entered
    const text = answer.text()
    expect((await session.cancel(7)).status).toBe(202)
    await expect.poll(() => signal.aborted).toBe(true)
    await text
    await expect.poll(() => front.counts()).toEqual({ sessions: 1, streams: 0, requests: 0 })
  })
})
