import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { spelled, withoutAdditions } from '../../packages/quartermaster/test/support/passed-on.ts'
import { type RunningProduct, startWithUpstreams } from '../support/running-product.ts'
import { withoutSessions, withoutWrapping } from './comparison.ts'
import { asListed, listingOf } from './everything-listing.ts'
import { type EverythingServer, openEverythingServer } from './everything-server.ts'
import { LONG_RUN, RESEARCH, STEPS, type Step, VISIT } from './everything-steps.ts'
import { connectDirectly, connectThrough, type ScriptedClient } from './scripted-client.ts'

const PREFIX = 'everything_'
const DOCUMENT = 'demo://resource/static/document/features.md'
/** What it says every now and then where it was told to. */
const LOGGED = {
  stdio: { level: 'error', data: 'Error-level message' },
  http: { level: 'error', data: 'Error-level message - SessionId ONE' },
}
/** Each once: what is behind does not know who is in front. */
const PAIRS = [
  { transport: 'stdio', era: 'modern' },
  { transport: 'http', era: 'legacy' },
] as const

describe.each(PAIRS)('server-everything behind over $transport, a $era client in front', ({ transport, era }) => {
  // It remembers what it was told and gets new resources while it runs, so each has one of its own.
  let behind: EverythingServer
  let beside: EverythingServer
  let product: RunningProduct
  let through: ScriptedClient
  let directly: ScriptedClient

  beforeAll(async () => {
    const opened = await Promise.all([openEverythingServer(transport), openEverythingServer(transport)])
    ;[behind, beside] = opened
    product = await startWithUpstreams({ everything: { ...behind.entry, newTools: 'offer' } })
    await product.reaches('everything')
    const { token } = await product.issue('default')
    through = await connectThrough({ mcpUrl: product.mcpUrl, token, era, prefix: PREFIX })
    const surroundings = { env: await environmentOf(through), cwd: product.folder }
    directly = await connectDirectly('url' in beside.entry ? beside.entry : { ...beside.entry, ...surroundings })
  })
  afterAll(async () => {
    await directly?.close()
    await through?.close()
    await product?.stop()
    await behind?.stop()
    await beside?.stop()
  })

  /** To the letter what was answered on both ways, once a step was taken on both. */
  async function answersTo(step: Pick<Step, 'method' | 'take'>) {
    for (const one of [directly, through]) await step.take(one)
    const [expected, answer] = [directly.resultOf(step.method), through.resultOf(step.method)].map(withoutSessions)
    return { expected: spelled(expected ?? ''), answer: withoutAdditions(answer ?? '', era) }
  }

  it.each(STEPS)('answers to the letter as without a gateway: $what', async step => {
    const { expected, answer } = await answersTo(step)
    expect(answer).toEqual(expected)
    expect(new Map(answer).get('isError')).toBe(step.isRefused ? 'true' : undefined)
  })

  it('tells the same progress, and what the server logs meanwhile', async () => {
    const told = async (one: ScriptedClient) => {
      const toggle = () => one.client.callTool({ name: `${one.prefix}toggle-simulated-logging`, arguments: {} })
      const progress: unknown[] = []
      await toggle()
      await LONG_RUN.take(one, { seconds: 0.9, onprogress: step => progress.push(step) })
      const result = one.resultOf(LONG_RUN.method)
      await toggle()
      return { progress, result, logs: JSON.parse(withoutSessions(JSON.stringify(one.logs))) }
    }
    const [expected, answer] = await Promise.all([told(directly), told(through)])
    expect(answer.progress).toEqual(expected.progress)
    expect(answer.progress).toHaveLength(4)
    expect(withoutAdditions(answer.result, era)).toEqual(spelled(expected.result))
    expect(expected.logs).toContainEqual(LOGGED[transport])
    expect(answer.logs).toContainEqual(LOGGED[transport])
  })

  it('runs a tool that the server only runs as a task, for clients that know nothing of that', async () => {
    const asked = { name: 'simulate-research-query', arguments: RESEARCH.arguments }
    expect(await directly.client.callTool(asked)).toMatchObject({ isError: true })
    await through.client.callTool({ ...asked, name: `${PREFIX}${asked.name}` })
    const { task } = await directly.ask('tools/call', { ...asked, task: {} })
    await directly.ask('tasks/result', { taskId: (task as { taskId: string }).taskId })
    // Which task it was means something to whoever asked for one.
    const { _meta, ...expected } = Object.fromEntries(spelled(directly.resultOf('tasks/result')))
    expect(withoutAdditions(through.resultOf('tools/call'), era)).toEqual(Object.entries(expected))
  })

  it('asks the same', () => {
    expect(directly.questions.length).toBeGreaterThan(3)
    expect(through.questions.map(withoutWrapping)).toEqual(directly.questions.map(withoutWrapping))
  })

  it('sends a person to an address by itself where the server refuses a call until then', async () => {
    await expect(VISIT.take(directly)).rejects.toThrow()
    const { expected, answer } = await answersTo(VISIT)
    expect(answer).toEqual(expected)
  })

  it('tells of resources that changed', async () => {
    for (const one of [directly, through]) {
      await watch(one, era === 'modern' && one === through)
      await one.client.callTool({ name: `${one.prefix}toggle-subscriber-updates`, arguments: {} })
      await expect.poll(() => one.updates).toContain(DOCUMENT)
    }
  })

  it('lists all that the server has, as the server describes it', async () => {
    const expected = await listingOf(directly)
    expect(await listingOf(through)).toEqual(expected.map(asListed))
    const tried = new Set([...STEPS, LONG_RUN, RESEARCH].map(({ about }) => about))
    expect(expected.filter(({ name }) => !tried.has(name))).toEqual([])
  })

  it('takes back behind what is taken back in front', async () => {
    for (const [one, server] of [
      [directly, beside],
      [through, behind],
    ] as const) {
      const taking = new AbortController()
      const { signal } = taking
      const call = LONG_RUN.take(one, { seconds: 8, signal, onprogress: () => taking.abort('Enough.') })
      await expect(call).rejects.toThrow()
      await expect.poll(() => isTakenBack(server)).toBe(true)
    }
  })
})

/** What the program gets from the gateway, so that another one can be started with the same. */
async function environmentOf(through: ScriptedClient): Promise<Record<string, string>> {
  const { content } = await through.client.callTool({ name: `${PREFIX}get-env`, arguments: {} })
  return JSON.parse((content as { text: string }[])[0]?.text ?? '')
}

async function watch({ client }: ScriptedClient, isModern: boolean): Promise<void> {
  if (isModern) await client.listen({ resourceSubscriptions: [DOCUMENT] })
  else await client.subscribeResource({ uri: DOCUMENT })
}

/** Whether the server was told that nobody waits any more for the call that it was given last. */
async function isTakenBack(server: EverythingServer): Promise<boolean> {
  const heard = await server.heard()
  const call = heard.findLast(({ method }) => method === 'tools/call')
  return heard.some(({ method, params }) => method === 'notifications/cancelled' && params?.requestId === call?.id)
}
