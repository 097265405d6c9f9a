import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { AppError, questionText } from '../../../contracts/index.ts'
import { DOWN, failureOf, fakeService, simpleTool, UP } from '../../../testing/hub.ts'
import { workerHub } from '../../../testing/worker-hub.ts'
import { type CallContext, defineTool, toolFailure, toolResult } from '../../catalogue/index.ts'

const add = defineTool({
  name: 'add',
  short: 'Adds two numbers.',
  input: z.strictObject({ a: z.number(), b: z.number() }),
  output: z.object({ sum: z.number() }),
  mutates: false,
  handler: ({ a, b }) => ({ sum: a + b }),
})

describe('permission', () => {
  it('answers for a tool that is not granted as for one that does not exist', async () => {
    const hub = await workerHub([add])
    await expect(hub.callAs('stranger', 'add', { a: 1, b: 2 })).rejects.toMatchObject({
      code: 'TOOL_NOT_FOUND',
      message: '"stranger" has no tool "add".',
    })
    await expect(hub.callAs('stranger', 'sub')).rejects.toMatchObject({
      code: 'TOOL_NOT_FOUND',
      message: '"stranger" has no tool "sub".',
    })
  })

  it('suggests the closest granted name', async () => {
    const hub = await workerHub([add])
    await expect(hub.callAs('worker', 'ad')).rejects.toThrow('Did you mean "add"?')
  })

  it('is looked at once more right before the run', async () => {
    const mail = fakeService('mail', UP)
    const hub = await workerHub([simpleTool('send', { requires: ['mail'] })], { dependencies: [mail] })
    await hub.health.probeNew()
    mail.verdict = DOWN
    hub.health.reportFailure('mail', 'connection reset')
    const refused = failureOf(hub.callAs('worker', 'send'))
    await hub.clock.advance(100)
    await hub.setAgents({ worker: { capabilities: {} } })
    mail.verdict = UP
    await hub.clock.advance(2_000)
    expect(await refused).toMatchObject({ code: 'TOOL_NOT_FOUND' })
  })
})

describe('validation', () => {
  it('tells every issue at once', async () => {
    const hub = await workerHub([add])
    await expect(hub.callAs('worker', 'add', { a: 'x', c: 3 })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      details: { issues: [{ path: ['a'] }, { path: ['b'] }, { path: ['c'] }] },
    })
  })

  it('checks raw JSON Schema as completely', async () => {
    const tool = simpleTool('greet', {
      input: {
        type: 'object',
        properties: { name: { type: 'string' } },
        required: ['name'],
        additionalProperties: false,
      },
    })
    const hub = await workerHub([tool])
    await expect(hub.callAs('worker', 'greet', { nam: 1 })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    await expect(hub.callAs('worker', 'greet', 'text')).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  it('refuses structured content that is not what the definition promises', async () => {
    const broken = defineTool({
      name: 'broken',
      short: 'x',
      input: { type: 'object' },
      output: z.object({ n: z.number() }),
      mutates: false,
      handler: () => ({ n: 'no' }) as never,
    })
    const hub = await workerHub([broken])
    await expect(hub.callAs('worker', 'broken')).rejects.toMatchObject({ code: 'OUTPUT_INVALID' })
  })
})

describe('results', () => {
  it('gives structured content with its text beside it', async () => {
    const hub = await workerHub([add])
    const { result, operationId } = await hub.callAs('worker', 'add', { a: 20, b: 22 })
    expect(result).toEqual({ content: [{ type: 'text', text: '{"sum":42}' }], structuredContent: { sum: 42 } })
    expect(operationId).toMatch(/^op_/)
  })

  it('passes on what the tool said when it said no', async () => {
    const hub = await workerHub([simpleTool('no', { handler: () => toolFailure('Not on Sundays.') })])
    expect((await hub.callAs('worker', 'no')).result).toMatchObject({
      isError: true,
      content: [{ text: 'Not on Sundays.' }],
    })
  })

  it('leaves out of what a tool answers what only the gateway says of a result', async () => {
    const _meta = { 'quartermaster/succeeded': true, 'quartermaster/kept': {}, mine: 1 }
    const hub = await workerHub([simpleTool('sly', { handler: () => toolResult({ content: [], _meta }) })])
    expect((await hub.callAs('worker', 'sly')).result).toEqual({ content: [], _meta: { mine: 1 } })
  })

  it('can be made with a context that is derived from the one that was given', async () => {
    const seen = ({ signal, deadline, log, operationId }: CallContext) =>
      [signal instanceof AbortSignal, Number.isFinite(deadline), typeof log.info, operationId.slice(0, 3)].join(' ')
    const handler = (_input: unknown, context: CallContext) =>
      [seen(Object.create(context)), seen(new Proxy(context, {}))].join(', ')
    const hub = await workerHub([simpleTool('derives', { handler })])
    const text = 'true true function op_, true true function op_'
    expect((await hub.callAs('worker', 'derives')).result.content).toEqual([{ type: 'text', text }])
  })

  it('takes a thrown error for the tool’s own failure, a TypeError too', async () => {
    const handler = () => (undefined as unknown as { x: string }).x
    const hub = await workerHub([simpleTool('buggy', { handler })])
    const { result } = await hub.callAs('worker', 'buggy')
    expect(result.isError).toBe(true)
    expect(hub.audit.at(-1)).toMatchObject({ outcome: 'failed', decision: 'allowed' })
  })

  it('cuts a text that is too large and keeps the whole for paging', async () => {
    const text = 'ä'.repeat(3_000)
    const long = { maxResultBytes: 1024, handler: () => text }
    const hub = await workerHub([simpleTool('long', long), simpleTool('change', { ...long, mutates: true })])
    const { result, kept } = await hub.callAs('worker', 'long')
    expect(kept).toMatchObject({ totalBytes: 6_000, keptBytes: 6_000, nextOffset: 1024 })
    // Whether its status can be asked for.
    expect(kept).not.toHaveProperty('isRecorded')
    expect((await hub.callAs('worker', 'change')).kept).toMatchObject({ isRecorded: true })
    const caller = hub.agents.session('worker').caller
    let read = (result.content[0] as { text: string }).text
    for (let offset = kept?.nextOffset; offset !== undefined; ) {
      const page = await hub.results.page(caller, kept?.resultId ?? '', offset)
      read += page.text
      offset = page.nextOffset
    }
    expect(read).toBe(text)
  })

  it('lets only its agent read a kept result, and forgets it after a while', async () => {
    const hub = await workerHub([simpleTool('long', { maxResultBytes: 1024, handler: () => 'x'.repeat(9_000) })])
    const { kept } = await hub.callAs('worker', 'long')
    const id = kept?.resultId ?? ''
    await expect(hub.results.page(hub.agents.session('stranger').caller, id, 0)).rejects.toThrow('No result')
    await hub.clock.advance(16 * 60_000)
    await expect(hub.results.page(hub.agents.session('worker').caller, id, 0)).rejects.toThrow('No result')
  })

  it('keeps no more than the bound, the newest first', async () => {
    const hub = await workerHub([simpleTool('long', { maxResultBytes: 1024, handler: () => 'x'.repeat(3_000) })], {
      settings: { keptResultsBytes: 7_000, keptResultBytes: 3_000 },
    })
    const answers = [
      await hub.callAs('worker', 'long'),
      await hub.callAs('worker', 'long'),
      await hub.callAs('worker', 'long'),
    ]
    const { caller } = hub.agents.session('worker')
    const reading = answers.map(({ kept }) => hub.results.page(caller, kept?.resultId ?? '', 0))
    const isKept = (await Promise.allSettled(reading)).map(({ status }) => status === 'fulfilled')
    expect(isKept).toEqual([false, true, true])
  })
})

describe('what no client could read', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic

  it.each([
    ['a value JSON has no word for', () => ({ big: 1n })],
    ['a circle', () => cyclic],
    ['a result with a circle', () => toolResult({ content: [], _meta: cyclic })],
    ['a result whose content is none', () => toolResult({ content: [{ type: 'text', text: 5 }] } as never)],
  ])('is refused and the tool named: %s', async (_what, handler) => {
    const hub = await workerHub([simpleTool('odd', { handler })])
    await expect(hub.callAs('worker', 'odd')).rejects.toMatchObject({
      code: 'OUTPUT_INVALID',
      message: expect.stringContaining('"odd"'),
    })
  })

  it('is refused on the way in', async () => {
    const hub = await workerHub([simpleTool('any')])
    await expect(hub.callAs('worker', 'any', { big: 1n })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  it.each([
    ['nothing', null],
    ['a text', 'plain'],
    ['an object without a prototype', Object.create(null)],
    ['an error whose message is no text', Object.assign(new Error('x'), { message: 5 })],
    [
      'an error that refuses to be looked at',
      new Proxy(new Error('x'), {
        get() {
          throw new Error('no')
        },
        getPrototypeOf() {
          throw new Error('no')
        },
      }),
    ],
    ['an error of ours with a code that is none', new AppError('NOT_THERE' as never, 'Gone.')],
  ])('is still told when a tool throws %s', async (_what, thrown) => {
    const handler = () => {
      throw thrown
    }
    const hub = await workerHub([simpleTool('odd', { handler })])
    const end = await hub.callAs('worker', 'odd').then(
      answer => answer.result.content[0],
      (error: AppError) => error.toJSON(),
    )
    expect(typeof (end as { text?: string }).text === 'string' || (end as { code?: string }).code === 'INTERNAL').toBe(
      true,
    )
    expect(hub.audit).toHaveLength(1)
  })

  it('does not matter in progress, nor does a listener that fails', async () => {
    const tool = defineTool({
      name: 'goes_on',
      short: 'x',
      input: { type: 'object' },
      mutates: false,
      handler(_input, context) {
        context.progress({ progress: '50%' } as never)
        context.progress({ progress: 1 })
        return 'done'
      },
    })
    const hub = await workerHub([tool])
    const onProgress = () => {
      throw new Error('listener')
    }
    expect((await hub.callAs('worker', 'goes_on', {}, { onProgress })).result.content).toEqual([
      { type: 'text', text: 'done' },
    ])
  })
})

describe('consent', () => {
  const send = simpleTool('send', { mutates: true, consent: ['mail.send'] })

  it('is asked for in one error, with reason, weight and the digest of the arguments', async () => {
    const hub = await workerHub([send])
    await expect(hub.callAs('worker', 'send', { to: 'bob' }, { unallowed: 'refuse' })).rejects.toMatchObject({
      code: 'CONSENT_REQUIRED',
      details: {
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        operations: [{ name: 'mail.send', weight: 'high', reason: 'It sends a mail in your name.' }],
      },
    })
    expect(hub.audit.at(-1)).toMatchObject({ decision: 'refused', outcome: 'notRun', code: 'CONSENT_REQUIRED' })
  })

  it('is there when the owner wrote it into the agent’s file', async () => {
    const hub = await workerHub([send], {
      agents: { worker: { capabilities: { main: {} }, consent: { allow: ['mail.send'] } } },
    })
    await hub.callAs('worker', 'send')
    expect(hub.audit.at(-1)).toMatchObject({ consent: { operations: ['mail.send'], by: 'file' } })
  })

  it('counts for exactly the arguments that were shown', async () => {
    const hub = await workerHub([send])
    const error = (await hub
      .callAs('worker', 'send', { to: 'bob' }, { unallowed: 'refuse' })
      .catch((reason: unknown) => reason)) as AppError
    const consented = { operations: ['mail.send'], digest: String(error.details?.digest) }
    await expect(hub.callAs('worker', 'send', { to: 'eve' }, { consented, unallowed: 'refuse' })).rejects.toMatchObject(
      {
        code: 'CONSENT_REQUIRED',
      },
    )
    await hub.callAs('worker', 'send', { to: 'bob' }, { consented })
    expect(hub.audit.at(-1)).toMatchObject({ consent: { by: 'owner' } })
  })

  it('is checked again for a nested call', async () => {
    const outer = simpleTool('outer', {
      handler: ((_input: never, context: { call: (name: string, input: unknown) => unknown }) =>
        context.call('send', {})) as never,
    })
    const hub = await workerHub([outer, send])
    await expect(hub.callAs('worker', 'outer', {}, { unallowed: 'refuse' })).rejects.toMatchObject({
      code: 'CONSENT_REQUIRED',
    })
  })
})

describe('nested calls', () => {
  const nest = (name: string, inner: string) =>
    defineTool({
      name,
      short: 'x',
      input: { type: 'object' },
      mutates: false,
      handler: async (_input, context) => toolResult(await context.call(inner, {})),
    })

  it('go through the call path, with the same caller and what is left of the time', async () => {
    let seen: { caller: unknown; deadline: number } | undefined
    const inner = defineTool({
      name: 'inner',
      short: 'x',
      input: { type: 'object' },
      mutates: false,
      handler: (_input, { caller, deadline }) => void (seen = { caller, deadline }),
    })
    const hub = await workerHub([nest('outer', 'inner'), inner])
    const started = hub.clock.now()
    await hub.callAs('worker', 'outer', {}, { timeoutMs: 700 })
    expect(seen).toEqual({
      caller: { kind: 'agent', organisation: 'default', name: 'worker', workspace: 'worker' },
      deadline: started + 700,
    })
    expect(hub.audit.map(entry => entry.tool)).toEqual(['inner', 'outer'])
  })

  it('end at the depth limit', async () => {
    const hub = await workerHub([nest('loop', 'loop')])
    await expect(hub.callAs('worker', 'loop')).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
    expect(hub.audit.length).toBe(8)
  })

  it('reach only tools that the agent has', async () => {
    const hub = await workerHub([nest('outer', 'hidden'), simpleTool('hidden')], {
      agents: { worker: { capabilities: { main: { tools: ['outer'] } } } },
    })
    await expect(hub.callAs('worker', 'outer')).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
  })
})

describe('questions and progress', () => {
  it('go to the caller', async () => {
    const tool = defineTool({
      name: 'asks',
      short: 'x',
      input: { type: 'object' },
      mutates: false,
      async handler(_input, context) {
        context.progress({ progress: 1, total: 2, message: 'half way' })
        const answer = await context.ask({ message: 'Which one?' })
        return String(answer.content?.pick)
      },
    })
    const hub = await workerHub([tool])
    const progress: unknown[] = []
    const { result } = await hub.callAs(
      'worker',
      'asks',
      {},
      {
        onProgress: update => progress.push(update),
        ask: async question => ({ action: 'accept', content: { pick: questionText(question).length } }),
      },
    )
    expect(result.content).toEqual([{ type: 'text', text: '10' }])
    expect(progress).toEqual([{ progress: 1, total: 2, message: 'half way' }])
    await expect(hub.callAs('worker', 'asks')).rejects.toMatchObject({ code: 'ANSWER_UNAVAILABLE' })
  })
})

describe('audit', () => {
  it('tells who, what, the digest of the arguments, the decision and the outcome, and never the arguments', async () => {
    const hub = await workerHub([add])
    await hub.callAs('worker', 'add', { b: 2, a: 1 })
    await hub.callAs('worker', 'add', { a: 1, b: 2 })
    const [first, second] = hub.audit
    expect(first).toMatchObject({
      tool: 'add',
      caller: { name: 'worker' },
      decision: 'allowed',
      outcome: 'succeeded',
      mutates: false,
    })
    expect(first?.digest).toBe(second?.digest)
    expect(JSON.stringify(first)).not.toContain('"a"')
  })
})
