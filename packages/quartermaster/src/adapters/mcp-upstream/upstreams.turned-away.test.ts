import { expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { httpEndpoint, type Visit } from './testing/http-endpoint.ts'
import { answerLegacy } from './testing/legacy-answers.ts'
import { PATIENT, SIGNAL, stage } from './testing/upstreams-stage.ts'

const TOOLS = ['slow', 'other'].map(name => ({ name, description: `It is ${name}.`, inputSchema: { type: 'object' } }))
const DONE = { content: [{ type: 'text', text: 'done' }] }
const TOLD = {
  401: /^It answers, but refused the tool "other": .*login w/,
  403: /^It answers, but refused the tool "other": The server answered with HTTP 403/,
  404: /^It answers, but refused the tool "other": The server answered with HTTP 404/,
}
const LOOKS = ['ping', 'server/discover', 'initialize']

/** What a server of an era has besides its tools. */
const ABOUT = {
  legacy: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'w', version: '1' } },
  modern: {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    serverInfo: { name: 'w', version: '1' },
  },
}

/** A server with one call under way that nobody has answered yet, and one that refuses whatever the test wants. */
async function underWay(
  era: 'legacy' | 'modern',
  refusal: (visit: Visit) => number | undefined,
  options: Record<string, unknown> = {},
) {
  const { configure, status, units, isUp } = await stage()
  const slow = deferred<Visit>()
  let [sessions, isRefusing] = [0, false]
  const server = await httpEndpoint(visit => {
    const { method, params } = visit.body
    const code = isRefusing ? refusal(visit) : undefined
    if (code !== undefined) return visit.json(code)
    if (method === 'initialize') return visit.result(ABOUT.legacy, { 'mcp-session-id': `s${++sessions}` })
    if (method === 'server/discover') return visit.result(ABOUT.modern)
    if (method === 'tools/call' && (params as { name: string }).name === 'slow') return slow.resolve(visit)
    answerLegacy(visit, { 'tools/list': () => ({ tools: TOOLS }), 'tools/call': () => DONE })
  })
  await configure({ w: UpstreamConfig.parse({ url: server.url, era, ...options }) })
  await isUp('w')
  const [unit] = await units()
  const tools = unit?.definitions.capabilities?.[0]?.tools ?? []
  const call = async (name: string, agent: string) => {
    const context = { caller: { name: agent }, client: 'one', signal: SIGNAL, canAnswer: () => false, progress() {} }
    return tools.find(tool => tool.name === `w_${name}`)?.handler({} as never, context as never)
  }
  const ada = call('slow', 'ada')
  const visit = await slow.promise
  isRefusing = true
  return {
    status: () => status('w'),
    ada,
    call,
    bob: call('other', 'bob'),
    answerAda: () => visit.result(DONE),
    letIn() {
      isRefusing = false
    },
  }
}

it.each([
  // One new session, which is what a 404 asks for by the specification.
  ['legacy', 404, 1],
  ['legacy', 401, 0],
  ['modern', 401, 0],
  ['modern', 403, 0],
] as const)(
  'refuses calls by HTTP alone that a %s server turns away with %i, however many, as long as it answers what else it is asked',
  async (era, code, restarts) => {
    const desk = await underWay(era, ({ body }) => (body.method === 'tools/call' ? code : undefined))
    const message = expect.stringContaining('was refused')
    for (const call of [desk.bob, desk.call('other', 'bob'), desk.call('other', 'eve')])
      await expect(call).rejects.toMatchObject({ code: 'UPSTREAM_ERROR', message, details: { status: code } })
    desk.answerAda()
    expect(await desk.ada).toMatchObject(DONE)
    expect(desk.status()).toMatchObject({ state: 'up', restarts })
    expect(desk.status()?.lastError?.message).toMatch(TOLD[code])
    desk.letIn()
    await desk.call('other', 'bob')
    expect(desk.status()?.lastError?.message ?? '').not.toMatch(/refused/)
  },
)

it('tells also of agents that have a connection of their own what is refused to them', async () => {
  const refusal = ({ body }: Visit) => (body.method === 'tools/call' ? 401 : undefined)
  const desk = await underWay('legacy', refusal, { connection: 'perAgent' })
  await expect(desk.bob).rejects.toMatchObject({ details: { status: 401 } })
  expect(desk.status()?.lastError?.message).toMatch(/^It answers, but refused the tool "other" for "bob": /)
  desk.letIn()
  await desk.call('other', 'bob')
  expect(desk.status()?.lastError).toBeUndefined()
  desk.answerAda()
  await desk.ada
})

it('lets a call finish that is under way when its session is forgotten, and sends the others in a new one', async () => {
  const desk = await underWay('legacy', ({ headers }) => (headers['mcp-session-id'] === 's1' ? 404 : undefined))
  expect(await desk.bob).toMatchObject(DONE)
  desk.answerAda()
  expect(await desk.ada).toMatchObject(DONE)
  expect(desk.status()).toMatchObject({ state: 'up', restarts: 1 })
})

it.each(['legacy', 'modern'] as const)(
  'lets a call finish that is under way when a %s server lets nobody in any more',
  async era => {
    const desk = await underWay(era, ({ body }) =>
      [...LOOKS, 'tools/call'].includes(String(body.method)) ? 401 : undefined,
    )
    const message = expect.stringContaining('lets nobody in')
    await expect(desk.bob).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE', message })
    await expect.poll(() => desk.status()?.state, PATIENT).toBe('needsLogin')
    desk.answerAda()
    expect(await desk.ada).toMatchObject(DONE)
  },
)

it('makes a new session for who has forgotten it, though it still answers a ping', async () => {
  const desk = await underWay('legacy', ({ headers, body }) =>
    headers['mcp-session-id'] === 's1' && body.method !== 'ping' ? 404 : undefined,
  )
  expect(await desk.bob).toMatchObject(DONE)
  desk.answerAda()
  expect(await desk.ada).toMatchObject(DONE)
})

it('makes a new session each time for who has forgotten it and says so to calls alone', async () => {
  let forgotten = ['s1']
  const desk = await underWay('legacy', ({ headers, body }) =>
    forgotten.includes(String(headers['mcp-session-id'])) && body.method === 'tools/call' ? 404 : undefined,
  )
  expect(await desk.bob).toMatchObject(DONE)
  forgotten = ['s1', 's2']
  const calls = [desk.call('other', 'bob'), desk.call('other', 'eve')]
  for (const one of calls) expect(await one).toMatchObject(DONE)
  desk.answerAda()
  expect(await desk.ada).toMatchObject(DONE)
  expect(desk.status()).toMatchObject({ state: 'up', restarts: 2 })
})
