import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { AppError } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { createHub, failureOf, simpleCapability, simplePrompt, simpleTool } from '../../../testing/hub.ts'
import { memoryStorage } from '../../../testing/memory-store.ts'
import { type AnyPrompt, type AnyTool, defineTool, passedResult, toolResult } from '../../catalogue/index.ts'
import { errorResult } from '../../kernel/index.ts'

async function hubWith(tools: readonly AnyTool[], prompts: readonly AnyPrompt[] = []) {
  const storage = memoryStorage()
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', tools, { prompts })] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
  })
  return { hub, store: storage.store }
}

const cycle: Record<string, unknown> = {}
cycle.self = cycle

describe('an error whose details JSON cannot say', () => {
  const fails = (details: Record<string, unknown>) => () => {
    throw new AppError('DEPENDENCY_UNAVAILABLE', 'The printer is out.', { details })
  }
  const LEFT_OUT = {
    code: 'DEPENDENCY_UNAVAILABLE',
    message: 'The printer is out. (Its details were left out, because they cannot be written as JSON.)',
    details: undefined,
  }

  it.each([
    ['a BigInt', { n: 1n }],
    ['a cycle', cycle],
  ])('such as %s reaches the caller and the record without them', async (_what, details) => {
    const { hub, store } = await hubWith([simpleTool('prints', { mutates: true, handler: fails(details) })])
    expect(await failureOf(hub.callAs('ada', 'prints'))).toMatchObject(LEFT_OUT)
    expect(await store.find('operations', {})).toMatchObject([
      { state: 'failed', error: { code: 'DEPENDENCY_UNAVAILABLE', message: LEFT_OUT.message } },
    ])
  })

  it('reaches readers as well', async () => {
    const { hub } = await hubWith([], [simplePrompt('prints', { render: fails({ n: 1n }) })])
    const session = hub.agents.session('ada')
    expect(await failureOf(hub.readings.renderPrompt({ session, name: 'prints' }))).toMatchObject(LEFT_OUT)
  })

  it('keeps those that it can say', async () => {
    const { hub } = await hubWith([simpleTool('prints', { handler: fails({ tray: 2 }) })])
    expect(await failureOf(hub.callAs('ada', 'prints'))).toMatchObject({
      message: 'The printer is out.',
      details: { tray: 2 },
    })
  })
})

describe('a tool that has run, and is cut off while its result is checked', () => {
  function pays(mutates: boolean) {
    const ran = deferred()
    const output = z.object({ ok: z.boolean() }).refine(() => new Promise<boolean>(() => ran.resolve()))
    const handler = () => ({ ok: true })
    const tool = defineTool({
      name: 'pays',
      short: 'x',
      input: { type: 'object' },
      mutates,
      timeoutMs: 1_000,
      output,
      handler,
    })
    return { tool, ran: ran.promise }
  }

  it('has an unknown outcome where it may have changed something, by time', async () => {
    const { tool, ran } = pays(true)
    const { hub, store } = await hubWith([tool])
    const failure = failureOf(hub.callAs('ada', 'pays'))
    await ran
    await hub.clock.advance(1_000)
    expect(await failure).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { because: 'DEADLINE_EXCEEDED' } })
    expect(await store.find('operations', {})).toMatchObject([{ state: 'unknown', outcome: 'unknown' }])
  })

  it('has an unknown outcome where it may have changed something, by its caller', async () => {
    const { tool, ran } = pays(true)
    const { hub, store } = await hubWith([tool])
    const cancel = new AbortController()
    const failure = failureOf(hub.callAs('ada', 'pays', {}, { signal: cancel.signal }))
    await ran
    cancel.abort()
    expect(await failure).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { because: 'CANCELLED' } })
    expect(await store.find('operations', {})).toMatchObject([{ state: 'unknown', outcome: 'unknown' }])
  })

  it('just took too long where it changes nothing', async () => {
    const { tool, ran } = pays(false)
    const { hub } = await hubWith([tool])
    const failure = failureOf(hub.callAs('ada', 'pays'))
    await ran
    await hub.clock.advance(1_000)
    expect(await failure).toMatchObject({ code: 'DEADLINE_EXCEEDED' })
  })
})

describe('a tool that has changed something, and whose result is not what it promises', () => {
  const output = z.object({ n: z.number() })
  const content = [{ type: 'text' as const, text: 'paid 5' }]
  const structuredContent = { n: 'five', secret: 'not for others' }

  it.each([
    ['a value of its own', { output, handler: () => structuredContent }, undefined],
    ['a result', { output, handler: () => toolResult({ content, structuredContent }) }, content],
    ['one of someone else’s server', { output, handler: () => passedResult({ content, structuredContent }) }, content],
    ['no list of content', { handler: () => passedResult({ content: 'paid' }) }, undefined],
    ['nothing that JSON can say', { handler: () => cycle }, undefined],
    [
      'checked by what fails itself',
      { output: output.refine(() => Reflect.ownKeys(1 as never)), handler: () => ({ n: 1 }) },
      undefined,
    ],
  ])('has an unknown outcome, which names its operation: %s', async (_what, more, said) => {
    const { hub, store } = await hubWith([simpleTool('pays', { mutates: true, ...more } as Partial<AnyTool>)])
    const failure = (await failureOf(hub.callAs('ada', 'pays'))) as AppError
    const [row] = await store.find('operations', {})
    expect(row).toMatchObject({ state: 'unknown', outcome: 'unknown', error: { code: 'OUTCOME_UNKNOWN' } })
    expect(failure).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { tool: 'pays', operationId: row?.id } })
    expect(failure.details?.content).toEqual(said)
    expect(JSON.stringify([failure, row])).not.toContain('not for others')
    // What the tool said stands behind it for the model, which may well read from it what was done.
    expect(errorResult(failure).content.slice(1)).toEqual(said ?? [])
  })

  it('is not run again for that', async () => {
    let runs = 0
    const handler = () => ({ n: `${++runs}` }) as never
    const pays = simpleTool('pays', { mutates: true, idempotent: true, retry: 'replay', output, handler })
    const { hub } = await hubWith([pays])
    expect(await failureOf(hub.callAs('ada', 'pays'))).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringMatching(
        /^"pays" ran, but its result is not what its definition promises\. .*It may have done its work: look before/,
      ),
      details: { because: 'OUTPUT_INVALID' },
    })
    expect(runs).toBe(1)
  })
})

describe('a value with a hundred thousand faults', () => {
  const MANY = 99_000
  const SHORT = 5_000

  async function told(work: Promise<unknown>): Promise<{ text: string; issues: readonly unknown[] }> {
    const failure = (await failureOf(work)) as AppError
    const text = JSON.stringify(failure)
    expect(failure.message).toMatch(/There are \d+ more issues\.$/)
    return { text, issues: failure.details?.issues as readonly unknown[] }
  }

  it('is refused in few words as arguments', async () => {
    const input = z.object({ items: z.array(z.number()) })
    const { hub } = await hubWith([simpleTool('adds', { input })])
    const { text, issues } = await told(hub.callAs('ada', 'adds', { items: Array(MANY).fill('x') }))
    expect(issues).toHaveLength(20)
    expect(text.length).toBeLessThan(SHORT)
  })

  it.each([
    [
      'structure',
      { output: z.object({ items: z.array(z.number()) }), handler: () => ({ items: Array(MANY).fill('x') }) },
    ],
    [
      'content',
      { handler: () => toolResult({ content: Array.from({ length: MANY }, () => ({ type: 'odd' }) as never) }) },
    ],
  ])('is refused in few words as the %s of a result', async (_what, more) => {
    const { hub } = await hubWith([simpleTool('gives', more as Partial<AnyTool>)])
    const { text } = await told(hub.callAs('ada', 'gives'))
    expect(text.length).toBeLessThan(SHORT)
  })

  it('is refused in few words as what a prompt takes and gives', async () => {
    const { hub } = await hubWith(
      [],
      [simplePrompt('odd', { render: () => Array.from({ length: MANY }, () => ({ role: 'odd' })) as never })],
    )
    const session = hub.agents.session('ada')
    expect((await told(hub.readings.renderPrompt({ session, name: 'odd' }))).text.length).toBeLessThan(SHORT)
    const given = Object.fromEntries(Array.from({ length: MANY }, (_, i) => [`n${i}`, 'x']))
    const { issues } = await told(hub.readings.renderPrompt({ session, name: 'odd', arguments: given }))
    expect(issues).toHaveLength(20)
  })
})
