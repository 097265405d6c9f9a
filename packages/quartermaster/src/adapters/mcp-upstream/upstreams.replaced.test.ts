import { describe, expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import { type HttpEndpoint, httpEndpoint, type Visit } from './testing/http-endpoint.ts'
import { answerLegacy } from './testing/legacy-answers.ts'
import { entry, SIGNAL, stage } from './testing/upstreams-fixture.ts'

/** A server that answers a call when the test has it do so, and who called it with what. */
async function countingServer() {
  const calls: Visit[] = []
  const server = await httpEndpoint(visit => {
    if (visit.body.method === 'tools/call') calls.push(visit)
    else answerLegacy(visit)
  })
  const finish = (index: number) => calls[index] && answerLegacy(calls[index])
  return { server, calls, finish, callers: () => calls.map(({ headers }) => headers['x-version']) }
}

const entryFor = ({ url }: HttpEndpoint, version: string, more: object = {}) =>
  UpstreamConfig.parse({ url, era: 'legacy', headers: { 'X-Version': version }, ...more })

/** The tool as the agent was given it, whatever became of its server since. */
async function toolOf({ units }: Awaited<ReturnType<typeof stage>>, own = '') {
  const [unit] = await units()
  const tool = unit?.definitions.capabilities?.[0]?.tools.find(({ name }) => name.endsWith(own))
  return (agent = 'ada') => {
    const context = { caller: { name: agent }, client: 'one', signal: SIGNAL, canAnswer: () => false, progress() {} }
    return Promise.resolve(tool?.handler({} as never, context as never))
  }
}

describe.each(['shared', 'perAgent'] as const)('an upstream whose entry is changed (%s)', connection => {
  it('ends the calls that are under way on what they began with, and sends all others to what is there now', async () => {
    const desk = await stage()
    const { server, calls, finish, callers } = await countingServer()
    await desk.configure({ tracker: entryFor(server, '1', { connection }) })
    await desk.isUp('tracker')
    const call = await toolOf(desk)
    const before = call()
    await expect.poll(() => calls.length).toBe(1)
    await desk.configure({ tracker: entryFor(server, '2', { connection }) })
    const since = [call(), call('bob')]
    await expect.poll(callers).toEqual(['1', '2', '2'])
    for (const index of calls.keys()) finish(index)
    for (const one of [before, ...since]) expect(await one).toMatchObject({ content: [{ text: '3 issues' }] })
  })

  it('starts nothing any more that was removed, and says so', async () => {
    const desk = await stage()
    const { server, callers } = await countingServer()
    await desk.configure({ tracker: entryFor(server, '1', { connection }) })
    await desk.isUp('tracker')
    const call = await toolOf(desk)
    await desk.configure({})
    await expect.poll(() => call().catch((error: Error) => error.message)).toContain('It was removed')
    expect(callers()).toEqual([])
  })
})

/** What becomes of a call that breaks at a server in whose place there is another, and how often that one is called. */
async function brokenWhereReplaced(annotations: object) {
  const answers = { 'tools/list': () => ({ tools: [{ name: 'set', inputSchema: { type: 'object' }, annotations }] }) }
  const calls: Visit[] = []
  const server = await httpEndpoint(visit => {
    if (visit.body.method === 'tools/call') calls.push(visit)
    if (calls[0] !== visit) answerLegacy(visit, answers)
  })
  const entryOf = (project: string) => UpstreamConfig.parse({ url: `${server.url}?project=${project}`, era: 'legacy' })
  const desk = await stage()
  await desk.configure({ tracker: entryOf('one') })
  await desk.isUp('tracker')
  const call = await toolOf(desk)
  const broken = call().catch((error: unknown) => error)
  await expect.poll(() => calls.length).toBe(1)
  await desk.configure({ tracker: entryOf('two') })
  calls[0]?.drop()
  return { end: await broken, sentAgain: calls.length - 1 }
}

it('sends again to another server in its place what only reads, and not what a server says is the same twice', async () => {
  expect(await brokenWhereReplaced({ readOnlyHint: true })).toMatchObject({
    end: { content: [{ text: '3 issues' }] },
    sentAgain: 1,
  })
  // It is the same twice at one server.
  expect(await brokenWhereReplaced({ idempotentHint: true })).toMatchObject({
    end: { code: 'OUTCOME_UNKNOWN' },
    sentAgain: 0,
  })
})

it('sends a call that waited for a server which cannot be reached to the one that the fixed entry names', async () => {
  const desk = await stage()
  const { server, calls, finish, callers } = await countingServer()
  await desk.configure({ tracker: entryFor(server, '1') })
  await desk.isUp('tracker')
  const call = await toolOf(desk)
  const gone = UpstreamConfig.parse({ url: 'http://127.0.0.1:9/mcp', era: 'legacy' })
  await desk.configure({ tracker: gone })
  const waiting = call()
  await expect.poll(() => desk.status('tracker')?.state).toBe('recovering')
  await desk.configure({ tracker: entryFor(server, '2') })
  await expect.poll(() => calls.length).toBe(1)
  finish(0)
  expect(await waiting).toMatchObject({ content: [{ text: '3 issues' }] })
  expect(callers()).toEqual(['2'])
})

it('sends a call that waits for one that is to run once to the last in its place, and says what it waits for', async () => {
  const desk = await stage()
  const { server, calls, finish, callers } = await countingServer()
  await desk.configure({ tracker: entryFor(server, '1', { single: true }) })
  await desk.isUp('tracker')
  const call = await toolOf(desk)
  const before = call()
  await expect.poll(() => calls.length).toBe(1)
  await desk.configure({ tracker: entryFor(server, '2', { single: true }) })
  const waiting = call()
  await desk.configure({ tracker: entryFor(server, '3', { single: true }) })
  expect(desk.status('tracker')).toMatchObject({ state: 'starting', reason: expect.stringContaining('the one before') })
  finish(0)
  await expect.poll(callers).toEqual(['1', '3'])
  finish(1)
  for (const one of [before, waiting]) expect(await one).toMatchObject({ content: [{ text: '3 issues' }] })
})

it.each([false, true])('names the process that ends its calls, and a restart ends them (single: %s)', async single => {
  const desk = await stage()
  await desk.configure({ ill: entry({ single }, '--hang-on=tools/call') })
  await desk.isUp()
  const [before = 0] = desk.status()?.pids ?? []
  const call = await toolOf(desk, 'append')
  const ended = call().catch((error: unknown) => error)
  await desk.configure({ ill: entry({ single }) })
  if (!single) await desk.isUp()
  expect(desk.status()?.pids.at(-1)).toBe(before)
  await desk.upstreams.restart('ill')
  const message = expect.stringContaining('It is being restarted.')
  expect(await ended).toMatchObject({ code: 'OUTCOME_UNKNOWN', message })
  await desk.isUp()
  await expect.poll(() => desk.status()?.pids).not.toContain(before)
})

describe('an upstream at which somebody signs in or out', () => {
  it.each([
    ['shared', undefined, ['ada', 'bob']],
    ['perAgent', 'ada', ['ada']],
  ] as const)(
    'ends the calls that are under way, and connects anew for whom it concerns (%s)',
    async (connection, agent, anew) => {
      const desk = await stage()
      const { server, calls, finish } = await countingServer()
      await desk.configure({ tracker: entryFor(server, '1', { connection }) })
      await desk.isUp('tracker')
      const call = await toolOf(desk)
      const before = ['ada', 'bob'].map(call)
      await expect.poll(() => calls.length).toBe(2)
      const meetings = () => server.visits.filter(({ body }) => body.method === 'initialize').length
      const met = meetings()
      await desk.upstreams.loginChanged({ upstream: 'tracker', agent })
      const since = ['ada', 'bob'].map(call)
      await expect.poll(() => calls.length).toBe(4)
      for (const index of calls.keys()) finish(index)
      for (const one of [...before, ...since]) expect(await one).toMatchObject({ content: [{ text: '3 issues' }] })
      expect(meetings() - met).toBe(connection === 'shared' ? 1 : anew.length)
      await expect.poll(() => desk.status('tracker')).toMatchObject({ state: 'up' })
    },
  )
})
