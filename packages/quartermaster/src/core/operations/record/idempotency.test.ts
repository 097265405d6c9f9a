import { describe, expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { type FaultyStorage, faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import { type AnyTool, markWaiting, toolResult } from '../../catalogue/index.ts'

/** A fixture with one tool that counts how often it ran. */
async function fixture(more: Partial<AnyTool> = {}, storage: FaultyStorage = faultyStorage()) {
  const runs: unknown[] = []
  const handler: AnyTool['handler'] = input => {
    runs.push(input)
    return `sent ${runs.length}`
  }
  const tool = simpleTool('send_mail', { mutates: true, handler, ...more })
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [tool])] } },
    agents: { ada: { capabilities: { main: {} } }, bob: { capabilities: { main: {} } } },
    storage,
  })
  const send = (idempotencyKey: string | undefined, input: unknown = { to: 'eve' }, agent = 'ada') =>
    hub.callAs(agent, 'send_mail', input, { idempotencyKey })
  return { hub, storage, runs, send }
}

describe('a call under an idempotency key', () => {
  it('is done once, and its repeat gets the first answer', async () => {
    const { send, runs } = await fixture()
    const first = await send('k1')
    expect(await send('k1')).toEqual(first)
    expect(runs).toHaveLength(1)
  })

  it('is done once, also by a process that was started since', async () => {
    const storage = faultyStorage()
    const before = await fixture({}, storage)
    const first = await before.send('k1')
    const after = await fixture({}, storage)
    expect(await after.send('k1')).toEqual(first)
    expect(after.runs).toHaveLength(0)
  })

  it('is another call for another caller, under another key, and without one', async () => {
    const { send, runs } = await fixture()
    await send('k1')
    await send('k1', { to: 'eve' }, 'bob')
    await send('k2')
    await send(undefined)
    await send(undefined)
    expect(runs).toHaveLength(5)
  })

  it('conflicts with other arguments, which are not run', async () => {
    const { send, runs } = await fixture()
    const { operationId } = await send('k1')
    expect(await failureOf(send('k1', { to: 'mallory' }))).toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
      details: { tool: 'send_mail', operationId },
    })
    expect(runs).toHaveLength(1)
  })

  it('does not care in which order its arguments are written', async () => {
    const { send, runs } = await fixture()
    await send('k1', { to: 'eve', text: 'hi' })
    await send('k1', { text: 'hi', to: 'eve' })
    expect(runs).toHaveLength(1)
  })

  it('is waited for by a repeat that comes while it runs', async () => {
    const entered = deferred()
    const leave = deferred()
    const { send, runs } = await fixture({
      handler: async input => {
        runs.push(input)
        entered.resolve()
        await leave.promise
        return 'sent'
      },
    })
    const first = send('k1')
    await entered.promise
    const second = send('k1')
    leave.resolve()
    expect(await second).toEqual(await first)
    expect(runs).toHaveLength(1)
  })

  it('is done once when two come at the same moment', async () => {
    const { send, runs } = await fixture()
    const answers = await Promise.all(Array.from({ length: 8 }, () => send('k1')))
    expect(runs).toHaveLength(1)
    expect(new Set(answers.map(answer => answer.operationId)).size).toBe(1)
  })

  it('fails again in the same way, without being tried again', async () => {
    const handler: AnyTool['handler'] = () => {
      runs.push(1)
      throw new AppError('UPSTREAM_ERROR', 'The server says no.')
    }
    const { send, runs } = await fixture({ handler })
    const said = { code: 'UPSTREAM_ERROR', message: 'The server says no.' }
    expect(await failureOf(send('k1'))).toMatchObject(said)
    expect(await failureOf(send('k1'))).toMatchObject(said)
    expect(runs).toHaveLength(1)
  })

  it('says no again when the tool said no', async () => {
    const { send } = await fixture({
      handler: () => toolResult({ content: [{ type: 'text', text: 'no' }], isError: true }),
    })
    const first = await send('k1')
    expect(first.result.isError).toBe(true)
    expect(await send('k1')).toEqual(first)
  })

  it('is kept also when it changes nothing', async () => {
    const { send, runs } = await fixture({ mutates: false })
    const first = await send('k1')
    expect(await send('k1')).toEqual(first)
    expect(runs).toHaveLength(1)
  })

  it.each(['manual', 'replay'] as const)(
    'is the first call when stopping refused the one before it ran, with retry: %s',
    async retry => {
      const before = await fixture({ retry, idempotent: true })
      before.storage.fault = () => void before.hub.calls.drain()
      expect(await failureOf(before.send('k1'))).toMatchObject({
        code: 'STOPPING',
        kind: 'unavailable',
        retry: 'later',
      })
      const after = await fixture({}, Object.assign(before.storage, { fault: () => undefined }))
      expect((await after.send('k1')).result.content).toEqual([{ type: 'text', text: 'sent 1' }])
      expect(before.runs).toHaveLength(0)
    },
  )

  it('is the first call when the one before was refused because there was too much to do', async () => {
    let isBusy = true
    const { send, runs } = await fixture({
      handler(input, context) {
        if (isBusy) {
          markWaiting(context, 'It was not sent.')
          throw new AppError('RATE_LIMITED', 'Too many requests are under way.')
        }
        return `sent ${runs.push(input)}`
      },
    })
    expect(await failureOf(send('k1'))).toMatchObject({ code: 'RATE_LIMITED' })
    isBusy = false
    expect((await send('k1')).result.content).toEqual([{ type: 'text', text: 'sent 1' }])
  })

  it('is the first call when stopping cut off the one before, which changes nothing', async () => {
    const before = await fixture({ mutates: false, handler: () => new Promise(() => {}) })
    const call = failureOf(before.send('k1'))
    await expect.poll(() => before.hub.calls.running()).toBe(1)
    before.hub.calls.stop()
    expect(await call).toMatchObject({ code: 'STOPPING' })
    const after = await fixture({ mutates: false }, before.storage)
    expect((await after.send('k1')).result.content).toEqual([{ type: 'text', text: 'sent 1' }])
  })

  it('is not answered to whom the tool was taken away', async () => {
    const { hub, send, runs } = await fixture()
    const first = await send('k1')
    await hub.setAgents({ ada: { capabilities: {} } })
    expect(await failureOf(send('k1'))).toMatchObject({ code: 'TOOL_NOT_FOUND' })
    await hub.setAgents({ ada: { capabilities: { main: {} } } })
    expect(await send('k1')).toEqual(first)
    expect(runs).toHaveLength(1)
  })

  it('is said in the audit to be a repeat of the first, which did not run', async () => {
    const { hub, send } = await fixture()
    const { operationId } = await send('k1')
    await send('k1')
    expect(hub.audit).toMatchObject([
      { operationId, outcome: 'succeeded', decision: 'allowed' },
      { operationId, outcome: 'notRun', decision: 'allowed' },
    ])
  })

  it('has a key of 1 to 255 characters', async () => {
    const { send, runs } = await fixture()
    for (const key of ['', 'x'.repeat(256), 'a\u0000b']) {
      expect(await failureOf(send(key))).toMatchObject({ code: 'INPUT_INVALID' })
    }
    expect(runs).toHaveLength(0)
  })
})
