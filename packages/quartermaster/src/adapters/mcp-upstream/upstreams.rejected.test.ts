import { expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { httpEndpoint, type Visit } from './testing/http-endpoint.ts'
import { answerLegacy } from './testing/legacy-answers.ts'
import { SIGNAL, stage } from './testing/upstreams-fixture.ts'

const TOOLS = ['slow', 'other', 'reading'].map(name => ({
  name,
  description: `It is ${name}.`,
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: name === 'reading' },
}))
const DONE = { content: [{ type: 'text', text: 'done' }] }
const TOLD = {
  401: /^It answers, but refused the tool "other": .*login w/,
  403: /^It answers, but refused the tool "other": The server answered with HTTP 403/,
  404: /^It answers, but refused the tool "other": The server answered with HTTP 404/,
}
/** What is said to whoever called. A 404 in a session that lives leaves open whether something was done. */
const SAID = {
  401: { code: 'UPSTREAM_ERROR', message: expect.stringContaining('was refused'), details: { status: 401 } },
  403: { code: 'UPSTREAM_ERROR', message: expect.stringContaining('was refused'), details: { status: 403 } },
  404: { code: 'OUTCOME_UNKNOWN', message: expect.stringContaining('HTTP 404. It may have done its work.') },
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
  { calls = 'other', ...options }: Record<string, unknown> & { calls?: string } = {},
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
    bob: call(calls, 'bob'),
    /** How often a tool was called at the server, whatever it answered. */
    times: (name: string) =>
      server.visits.filter(({ body }) => (body.params as { name?: string } | undefined)?.name === name).length,
    answerAda: () => visit.result(DONE),
    letIn() {
      isRefusing = false
    },
  }
}

it.each([
  // One new session for those that come later, which is what a 404 asks for by the specification.
  ['legacy', 404, 1],
  ['legacy', 401, 0],
  ['modern', 401, 0],
  ['modern', 403, 0],
] as const)(
  'sends what changes something once to a %s server that turns it away with %i, and stays up as long as it answers what else it is asked',
  async (era, code, restarts) => {
    const desk = await underWay(era, ({ body }) => (body.method === 'tools/call' ? code : undefined))
    const together = [desk.bob, desk.call('other', 'bob'), desk.call('other', 'eve')]
    await Promise.all(together.map(call => expect(call).rejects.toMatchObject(SAID[code])))
    await expect.poll(() => desk.status()).toMatchObject({ state: 'up', restarts })
    await expect(desk.call('other', 'eve')).rejects.toMatchObject(SAID[code])
    expect(desk.times('other')).toBe(4)
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

it('tells of an agent whose own connection does not come up, until it does', async () => {
  const refusal = ({ headers }: Visit) => (headers['x-key'] === 'bob' ? 500 : undefined)
  const desk = await underWay('legacy', refusal, { agents: { bob: { headers: { 'x-key': 'bob' } } } })
  const failing = [{ agent: 'bob', reason: expect.stringContaining('HTTP 500') }]
  await expect.poll(() => desk.status()).toMatchObject({ state: 'up', failing })
  desk.letIn()
  expect(await desk.bob).toMatchObject(DONE)
  expect(desk.status()).not.toHaveProperty('failing')
  desk.answerAda()
  await desk.ada
})

it('lets a call finish that is under way when its session is forgotten, and sends the others in a new one', async () => {
  const desk = await underWay('legacy', ({ headers }) => (headers['mcp-session-id'] === 's1' ? 404 : undefined))
  expect(await desk.bob).toMatchObject(DONE)
  expect(desk.times('other')).toBe(2)
  desk.answerAda()
  expect(await desk.ada).toMatchObject(DONE)
  expect(desk.status()).toMatchObject({ state: 'up', restarts: 1 })
})

it('does not know how a call ended whose own work ends every session that it is sent in', async () => {
  const ended = new Set<unknown>()
  const desk = await underWay('legacy', ({ headers, body }) => {
    if ((body.params as { name?: string } | undefined)?.name === 'other') ended.add(headers['mcp-session-id'])
    return ended.has(headers['mcp-session-id']) ? 404 : undefined
  })
  await expect(desk.bob).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  expect(desk.times('other')).toBe(2)
  desk.answerAda()
  expect(await desk.ada).toMatchObject(DONE)
})

it.each(['legacy', 'modern'] as const)(
  'lets a call finish that is under way when a %s server lets nobody in any more',
  async era => {
    const desk = await underWay(era, ({ body }) =>
      [...LOOKS, 'tools/call'].includes(String(body.method)) ? 401 : undefined,
    )
    const message = expect.stringContaining('requires a login')
    await expect(desk.bob).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE', message })
    await expect.poll(() => desk.status()?.state).toBe('needsLogin')
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

it.each([
  ['reading', 'which is sent in it as well', { status: 'fulfilled' }, 2],
  ['other', 'which may have been done and is not sent again', { status: 'rejected', reason: SAID[404] }, 1],
])(
  'makes a new session for who says to calls alone that it has forgotten it: after "%s", %s',
  async (tool, _, bob, times) => {
    const desk = await underWay(
      'legacy',
      ({ headers, body }) => (headers['mcp-session-id'] === 's1' && body.method === 'tools/call' ? 404 : undefined),
      { calls: tool },
    )
    expect(await Promise.allSettled([desk.bob])).toMatchObject([bob])
    expect(desk.times(tool)).toBe(times)
    expect(await desk.call(tool, 'eve')).toMatchObject(DONE)
    expect(desk.times(tool)).toBe(times + 1)
    desk.answerAda()
    expect(await desk.ada).toMatchObject(DONE)
    expect(desk.status()).toMatchObject({ state: 'up', restarts: 1 })
  },
)
