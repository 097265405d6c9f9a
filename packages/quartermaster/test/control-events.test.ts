import { afterEach, describe, expect, it } from 'vitest'
import { createControlClient } from '../src/adapters/control-client/index.ts'
import type { Control, ControlEvent, ControlOptions } from '../src/contracts/index.ts'
import { deferred } from '../src/testing/deferred.ts'
import { fakeControl } from '../src/testing/fake-control.ts'
import { ADMIN_TOKEN, startHttpServer, type TestServer } from '../src/testing/http-server.ts'

let server: TestServer | undefined

afterEach(async () => {
  await server?.close(0)
  server = undefined
})

const OPENED: ControlEvent = { name: 'approval.opened', at: 1, id: 'op_1', tool: 'send', agent: 'ada' }

/** A server whose events a test tells, to the owner and to a person whose token counts as long as a test says. */
async function serving() {
  const following = deferred<Required<Pick<ControlOptions, 'onEvent' | 'signal'>>>()
  const events: Control['events'] = async (_, { onEvent = () => {}, signal = new AbortController().signal } = {}) => {
    following.resolve({ onEvent, signal })
    await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
    return {}
  }
  const control = fakeControl({ events })
  const token = { isGood: true }
  const persons = {
    holderOf: () => (token.isGood ? { organisation: 'default', person: 'eve' } : undefined),
    controlOf: () => control,
  }
  server = await startHttpServer({ control, persons })
  return { server, token, following: following.promise }
}

describe('the events of the control API', () => {
  it('reach their followers as they happen', async () => {
    const { server: at, following } = await serving()
    const heard = deferred<ControlEvent>()
    const gone = new AbortController()
    const ended = createControlClient({ url: at.url, token: ADMIN_TOKEN }).events(
      {},
      { onEvent: heard.resolve, signal: gone.signal },
    )
    const { onEvent, signal } = await following
    onEvent(OPENED)
    expect(await heard.promise).toEqual(OPENED)
    gone.abort()
    await expect(ended).rejects.toMatchObject({ code: 'CANCELLED' })
    await expect.poll(() => signal.aborted).toBe(true)
  })

  it('end when the token of a person is revoked, without a further event', async () => {
    const { server: at, token, following } = await serving()
    const heard: ControlEvent[] = []
    const ended = createControlClient({ url: at.url, token: 'qm_eve' }).events({}, { onEvent: one => heard.push(one) })
    const { onEvent, signal } = await following
    onEvent(OPENED)
    token.isGood = false
    onEvent({ ...OPENED, id: 'op_2' })
    await expect(ended).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    expect([heard, signal.aborted]).toEqual([[OPENED], true])
  })

  it('are cut off for a client that does not read them, with a last event', async () => {
    const { server: at, following } = await serving()
    const response = await fetch(`${at.url}/api/v1/control/events`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${ADMIN_TOKEN}`,
        'Content-Type': 'application/json',
        Accept: 'application/x-ndjson',
      },
      body: '{}',
    })
    const { onEvent, signal } = await following
    for (let i = 0; i < 100_000 && !signal.aborted; i++) onEvent({ ...OPENED, tool: 'x'.repeat(1_000) })
    expect(signal.aborted).toBe(true)
    const lines = (await response.text()).trim().split('\n')
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ error: { code: 'LIMIT_EXCEEDED' } })
  })

  it('come line by line and not otherwise', async () => {
    const { server: at } = await serving()
    const response = await at.post('events', {})
    expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ code: 'INPUT_INVALID' })])
  })
})
