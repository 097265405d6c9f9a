import { describe, expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import type { Era } from './peer/session.ts'
import { type EraServer, eraServer } from './testing/era-server.ts'
import { httpEndpoint, type Visit } from './testing/http-endpoint.ts'
import { answerLegacy } from './testing/legacy-answers.ts'
import { SIGNAL, stage } from './testing/upstreams-fixture.ts'

const entryFor = ({ url }: Pick<EraServer, 'url'>, more: object = {}) => UpstreamConfig.parse({ url, ...more })

type Desk = Awaited<ReturnType<typeof stage>>

/** Calls a tool as the agent was given it, whatever became of its server since. */
async function callerOf({ units }: Desk) {
  const [unit] = await units()
  const tools = unit?.definitions.capabilities?.[0]?.tools ?? []
  return (own: string, agent = 'ada') => {
    const tool = tools.find(({ name }) => name.endsWith(own))
    const context = { caller: { name: agent }, client: 'one', signal: SIGNAL, canAnswer: () => false, progress() {} }
    return Promise.resolve(tool?.handler({} as never, context as never))
  }
}

const SWITCHES = [
  ['modern', 'legacy'],
  ['legacy', 'modern'],
] as const satisfies [Era, Era][]

describe.each(SWITCHES)('a server of the %s era in whose place there is one of the %s', (from, to) => {
  async function switched(more: object = {}) {
    const server = await eraServer(from)
    const desk = await stage()
    await desk.configure({ shop: entryFor(server, more) })
    await desk.isUp('shop')
    const call = await callerOf(desk)
    await call('count')
    server.become(to)
    return { server, desk, call }
  }

  it.each(['count', 'buy'])('is met anew by the call that it refuses, which is then done once: %s', async tool => {
    const { server, desk, call } = await switched()
    expect(await call(tool)).toMatchObject({ content: [{ text: `${tool} done` }] })
    expect(server.runs).toEqual([`count ${from}`, `${tool} ${to}`])
    expect(desk.status('shop')).toMatchObject({ state: 'up', era: to })
  })

  it('does each of several calls once that it refuses at the same time', async () => {
    const { server, call } = await switched()
    const answers = await Promise.all(['buy', 'count', 'buy'].map(tool => call(tool)))
    expect(answers).toHaveLength(3)
    expect(server.runs.slice(1).toSorted()).toEqual([`buy ${to}`, `buy ${to}`, `count ${to}`])
  })

  it('is met anew for an agent that has a connection to itself', async () => {
    const { server, call } = await switched({ connection: 'perAgent' })
    await Promise.all([call('buy'), call('buy', 'bob')])
    expect(server.runs.slice(1)).toEqual([`buy ${to}`, `buy ${to}`])
  })

  it('is down where it has to be of the era before, and its call was not done', async () => {
    const { server, desk, call } = await switched({ era: from })
    const failed = call('buy').catch((error: unknown) => error)
    await expect.poll(() => desk.status('shop')?.restarts).toBeGreaterThan(1)
    await desk.upstreams.stop()
    expect(await failed).toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
    expect(server.runs).toEqual([`count ${from}`])
  })
})

/** A server that refuses every call as one does that does not speak the revision, and nothing else. */
function refusingCalls(era: Era, visit: Visit): void {
  const { body, json } = visit
  if (body.method === 'tools/call') {
    const error = { code: -32_022, message: 'Unsupported protocol version: it is that of the till', data: {} }
    return json(400, { jsonrpc: '2.0', id: body.id, error })
  }
  const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
  if (era === 'legacy') answerLegacy(visit)
  else if (body.method === 'initialize') json(400)
  else answerLegacy(visit, { 'server/discover': () => discovered })
}

it.each(['modern', 'legacy'] as const)(
  'gives the words of a server of the %s era that speaks so of a call alone, and meets it no second time',
  async era => {
    const server = await httpEndpoint(visit => refusingCalls(era, visit))
    const desk = await stage()
    await desk.configure({ shop: entryFor(server) })
    await desk.isUp('shop')
    const call = await callerOf(desk)
    const listed = () => server.visits.filter(({ body }) => body.method === 'tools/list').length
    const before = desk.status('shop')
    for (let calls = 0; calls < 3; calls++)
      await expect(call('count')).rejects.toMatchObject({ message: expect.stringContaining('that of the till') })
    expect(desk.status('shop')).toMatchObject({ state: 'up', era, since: before?.since })
    // Asked for its list, where that is what tells.
    expect(listed()).toBe(era === 'legacy' ? 4 : 1)
  },
)

it('starts a server anew as one that fails to, where it lets itself be met and takes nothing in, until it does', async () => {
  let isWell = true
  const server = await httpEndpoint(visit => {
    const { body, json } = visit
    if (isWell || body.method === 'initialize' || !('id' in body)) return answerLegacy(visit)
    json(400, { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'Unsupported protocol version' } })
  })
  const desk = await stage()
  await desk.configure({ shop: entryFor(server) })
  await desk.isUp('shop')
  const call = await callerOf(desk)
  isWell = false
  server.visits.length = 0
  const failed = call('count').catch((error: unknown) => error)
  await expect.poll(() => desk.status('shop')?.restarts).toBeGreaterThan(2)
  const met = server.visits.filter(({ body }) => body.method === 'initialize').length
  expect(met).toBeLessThanOrEqual((desk.status('shop')?.restarts ?? 0) + 1)
  expect(desk.status('shop')).toMatchObject({ state: 'recovering', reason: expect.stringContaining('revision of MCP') })
  isWell = true
  expect(await failed).toMatchObject({ content: [{ text: '3 issues' }] })
})

it('greets a server of the legacy era as such once it is known, also after a restart of all', async () => {
  const server = await eraServer('legacy')
  const first = await stage()
  await first.configure({ shop: entryFor(server) })
  await first.isUp('shop')
  expect(server.methods[0]).toBe('server/discover')
  await first.upstreams.stop()
  server.methods.length = 0
  const second = await stage({ storage: first.storage })
  await second.configure({ shop: entryFor(server) })
  await second.isUp('shop')
  expect(server.methods[0]).toBe('initialize')
})
