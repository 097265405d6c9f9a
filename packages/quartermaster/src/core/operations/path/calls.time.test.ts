import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import type { ResultPage } from '../../../contracts/index.ts'
import { DOWN, failureOf, fakeService, simpleTool, UP } from '../../../testing/hub.ts'
import { workerHub } from '../../../testing/worker-hub.ts'
import { defineTool, pauseRun, toolResult } from '../../catalogue/index.ts'

describe('limits', () => {
  const large = 'x'.repeat(5_000)

  it.each([
    ['meta data', toolResult({ content: [{ type: 'text', text: 'short' }], _meta: { large } })],
    ['meta data of a part', toolResult({ content: [{ type: 'text', text: 'short', _meta: { large } }] })],
    [
      'structure beside a short text',
      toolResult({ content: [{ type: 'text', text: 'short' }], structuredContent: { large } }),
    ],
  ])('count %s, and keep all of it', async (_what, result) => {
    const hub = await workerHub([simpleTool('big', { maxResultBytes: 1024, handler: () => result })])
    const answer = await hub.callAs('worker', 'big')
    expect(JSON.stringify(answer.result).length).toBeLessThan(3_000)
    const { caller } = hub.agents.session('worker')
    let whole = ''
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const page: ResultPage = await hub.results.page(caller, answer.operationId, offset)
      whole += page.text
      offset = page.nextOffset
    }
    expect(JSON.parse(whole)).toEqual(JSON.parse(JSON.stringify(result)))
  })
})

describe('stopping', () => {
  it('ends what is under way and takes nothing more', async () => {
    const stuck = simpleTool('stuck', { handler: () => new Promise(() => {}) })
    const hub = await workerHub([stuck, simpleTool('writes', { mutates: true, handler: () => new Promise(() => {}) })])
    const ends = [failureOf(hub.callAs('worker', 'stuck')), failureOf(hub.callAs('worker', 'writes'))]
    await hub.clock.advance(1)
    await hub.stop()
    expect(await ends[0]).toMatchObject({ code: 'STOPPING' })
    expect(await ends[1]).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { because: 'STOPPING' } })
    await expect(hub.callAs('worker', 'stuck')).rejects.toMatchObject({ code: 'STOPPING' })
  })
})

describe('time', () => {
  it('bounds a check of arguments or results that asks somewhere else', async () => {
    const never = z.object({}).refine(() => new Promise<boolean>(() => {}))
    const tools = [
      defineTool({
        name: 'in',
        short: 'x',
        input: { schema: never, jsonSchema: { type: 'object' } },
        mutates: false,
        timeoutMs: 100,
        handler: () => '',
      }),
      defineTool({
        name: 'out',
        short: 'x',
        input: { type: 'object' },
        output: { schema: never, jsonSchema: { type: 'object' } },
        mutates: false,
        timeoutMs: 100,
        handler: () => ({}),
      }),
    ]
    const hub = await workerHub(tools)
    const ends = [failureOf(hub.callAs('worker', 'in')), failureOf(hub.callAs('worker', 'out'))]
    await hub.clock.advance(100)
    expect(await Promise.all(ends)).toMatchObject([{ code: 'DEADLINE_EXCEEDED' }, { code: 'DEADLINE_EXCEEDED' }])
  })

  it('of the run stands still while a person is asked, also around a nested call', async () => {
    const asks = defineTool({
      name: 'asks',
      short: 'x',
      input: { type: 'object' },
      mutates: false,
      timeoutMs: 100,
      async handler(_input, context) {
        await context.ask({ message: 'Sure?' })
        return new Promise(() => {})
      },
    })
    const outer = defineTool({
      name: 'outer',
      short: 'x',
      input: { type: 'object' },
      mutates: false,
      timeoutMs: 100,
      handler: async (_input, context) => toolResult(await context.call('asks', {})),
    })
    const hub = await workerHub([asks, outer])
    let answer = () => {}
    const ask = () => new Promise<{ action: 'accept' }>(resolve => (answer = () => resolve({ action: 'accept' })))
    const ended = failureOf(hub.callAs('worker', 'outer', {}, { ask }))
    await hub.clock.advance(60_000)
    expect(hub.audit).toEqual([])
    answer()
    await hub.clock.advance(100)
    expect(await ended).toMatchObject({ code: 'DEADLINE_EXCEEDED' })
  })

  it('of the run stands still while another call is asked what it may be waiting for', async () => {
    let goOn = () => {}
    const waits = simpleTool('waits', {
      timeoutMs: 100,
      handler: (_input, context) => new Promise(() => void (goOn = pauseRun(context))),
    })
    const hub = await workerHub([waits])
    const ended = failureOf(hub.callAs('worker', 'waits'))
    await hub.clock.advance(60_000)
    expect(hub.audit).toEqual([])
    goOn()
    await hub.clock.advance(100)
    expect(await ended).toMatchObject({ code: 'DEADLINE_EXCEEDED' })
  })

  it('may pass while many questions wait, without a warning of Node', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error) => void warnings.push(warning)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const asks = simpleTool('asks', {
      handler: async (_input, context) => {
        await Promise.all(Array.from({ length: 16 }, () => context.ask({ message: 'Sure?' })))
        return 'sure'
      },
    })
    const hub = await workerHub([asks])
    await hub.callAs('worker', 'asks', {}, { ask: async () => ({ action: 'accept' }) })
    // Node tells of them a turn later.
    await new Promise(resolve => setImmediate(resolve))
    expect(warnings).toEqual([])
  })

  it('of the whole call goes on while a person is asked', async () => {
    const asks = defineTool({
      name: 'asks',
      short: 'x',
      input: { type: 'object' },
      mutates: false,
      handler: async (_input, context) => (await context.ask({ message: 'Sure?' })).action,
    })
    const hub = await workerHub([asks])
    const ended = failureOf(hub.callAs('worker', 'asks', {}, { timeoutMs: 500, ask: () => new Promise(() => {}) }))
    await hub.clock.advance(500)
    expect(await ended).toMatchObject({ code: 'DEADLINE_EXCEEDED' })
  })

  it('of the run does not include waiting', async () => {
    const mail = fakeService('mail', DOWN)
    const hub = await workerHub([simpleTool('send', { requires: ['mail'], timeoutMs: 400 })], {
      dependencies: [mail],
      settings: { restartWaitSeconds: 0 },
    })
    await hub.health.probeNew()
    let answer = () => {}
    mail.wait = new Promise<void>(resolve => {
      answer = resolve
    })
    mail.verdict = UP
    const call = hub.callAs('worker', 'send')
    await hub.clock.advance(800)
    answer()
    expect((await call).result.content).toEqual([{ type: 'text', text: 'send' }])
  })

  const stuck = (mutates: boolean) =>
    simpleTool('stuck', { mutates, timeoutMs: 500, handler: () => new Promise(() => {}) })

  it('ends a run that takes too long, whatever the handler does', async () => {
    const hub = await workerHub([stuck(false)])
    const ended = failureOf(hub.callAs('worker', 'stuck'))
    await hub.clock.advance(500)
    expect(await ended).toMatchObject({ code: 'DEADLINE_EXCEEDED' })
  })

  it('says that the outcome is unknown when the tool may have changed something', async () => {
    const hub = await workerHub([stuck(true)])
    const ended = failureOf(hub.callAs('worker', 'stuck'))
    await hub.clock.advance(500)
    expect(await ended).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { because: 'DEADLINE_EXCEEDED' } })
    expect(hub.audit.at(-1)).toMatchObject({ outcome: 'unknown' })
  })

  it('reaches the handler with the caller’s cancellation', async () => {
    let reason: unknown
    const handler = (_input: never, context: { signal: AbortSignal }) =>
      new Promise((_, reject) =>
        context.signal.addEventListener('abort', () => {
          reason = context.signal.reason
          reject(reason)
        }),
      )
    const hub = await workerHub([simpleTool('waits', { handler: handler as never })])
    const controller = new AbortController()
    const call = hub.callAs('worker', 'waits', {}, { signal: controller.signal })
    const ended = failureOf(call)
    await hub.clock.advance(1)
    controller.abort()
    expect(await ended).toMatchObject({ code: 'CANCELLED' })
    expect(reason).toMatchObject({ code: 'CANCELLED' })
    expect(hub.operations.running()).toEqual([])
  })
})
