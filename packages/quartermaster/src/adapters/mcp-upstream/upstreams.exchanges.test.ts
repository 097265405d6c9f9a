import { expect, it, vi } from 'vitest'
import { type Answer, UpstreamConfig } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { httpEndpoint, type Visit } from './testing/http-endpoint.ts'
import { answerLegacy } from './testing/legacy-answers.ts'
import { SIGNAL, stage } from './testing/upstreams-fixture.ts'

it('lists a server again when the exchange broke in which it was to say what changed', async () => {
  const { configure, toolNames, status, isUp } = await stage()
  const stream = deferred<(text: string) => void>()
  let lists = 0
  const server = await httpEndpoint(visit => {
    if (visit.method === 'GET') return stream.resolve(visit.events())
    if (visit.body.method !== 'tools/list') return answerLegacy(visit)
    lists++
    if (lists === 2) return visit.drop()
    const names = lists === 1 ? ['count'] : ['count', 'close']
    visit.result({ tools: names.map(name => ({ name, inputSchema: { type: 'object' } })) })
  })
  await configure({ tracker: UpstreamConfig.parse({ url: server.url, era: 'legacy', newTools: 'offer' }) })
  await isUp('tracker')
  const write = await stream.promise
  write('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n')
  await expect.poll(toolNames).toContain('tracker_close')
  expect(status('tracker')).toMatchObject({ state: 'up', restarts: 0 })
})

it('looks again at what a server has that ended its connections, as one does that is replaced', async () => {
  const { configure, status, units, isUp } = await stage()
  let isReplaced = false
  const server = await httpEndpoint(visit => {
    // Neither a session nor a stream tells that it is another one.
    if (visit.body.method !== 'tools/list') return answerLegacy(visit)
    const description = isReplaced ? 'Counts something else.' : 'Counts.'
    visit.result({ tools: [{ name: 'count', description, inputSchema: { type: 'object' } }] })
  })
  await configure({ tracker: UpstreamConfig.parse({ url: server.url, era: 'legacy' }) })
  await isUp('tracker')
  const [unit] = await units()
  const [tool] = unit?.definitions.capabilities?.[0]?.tools ?? []
  const context = { caller: { name: 'ada' }, client: 'one', signal: SIGNAL, canAnswer: () => false, progress() {} }
  isReplaced = true
  // A connection that rests for seconds would be ended by us.
  await tool?.handler({} as never, context as never)
  server.dropAll()
  await expect.poll(() => status('tracker')?.tools).toEqual({ offered: 0, held: 1 })
  expect(status('tracker')).toMatchObject({ state: 'up', restarts: 0 })
})

it('asks once what changed for an agent with a connection of its own, however often its server tells of it', async () => {
  const { upstreams, configure, units, isUp } = await stage()
  const streams: ((text: string) => void)[] = []
  const listing = deferred<Visit>()
  let [isFlooded, lists] = [false, 0]
  const server = await httpEndpoint(visit => {
    if (visit.method === 'GET') return void streams.push(visit.events())
    if (visit.body.method !== 'tools/list' || !isFlooded) return answerLegacy(visit)
    lists++
    listing.resolve(visit)
  })
  await configure({ tracker: UpstreamConfig.parse({ url: server.url, era: 'legacy', connection: 'perAgent' }) })
  await isUp('tracker')
  const [unit] = await units()
  const [tool] = unit?.definitions.capabilities?.[0]?.tools ?? []
  const context = { caller: { name: 'ada' }, client: 'one', signal: SIGNAL, canAnswer: () => false, progress() {} }
  await tool?.handler({} as never, context as never)
  await expect.poll(() => streams.length).toBe(2)
  isFlooded = true
  const notice = (method: string, params = {}) => `data: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`
  streams[1]?.(notice('notifications/tools/list_changed').repeat(1_000))
  const visit = await listing.promise
  streams[1]?.(notice('notifications/tools/list_changed').repeat(1_000))
  streams[1]?.(notice('notifications/message', { level: 'info', data: 'All is told.' }))
  const lines = () => upstreams.logs('tracker', { limit: 10 }).map(({ text }) => text)
  await expect.poll(lines).toContainEqual(expect.stringContaining('All is told.'))
  expect(lists).toBe(1)
  isFlooded = false
  answerLegacy(visit)
})

it.each([
  ['how many there are', { values: ['a'], total: 500, hasMore: true }, { values: ['a'], total: 500, hasMore: true }],
  ['nothing that it did not say', { values: ['a', 7], total: -1, hasMore: 'yes' }, { values: ['a'] }],
])('passes on of what a server suggests %s', async (_, completion, passed) => {
  const { configure, units, isUp } = await stage()
  const server = await httpEndpoint(visit =>
    answerLegacy(visit, {
      initialize: () => ({
        protocolVersion: '2025-11-25',
        capabilities: { prompts: {}, completions: {} },
        serverInfo: { name: 'desk', version: '1' },
      }),
      'prompts/list': () => ({ prompts: [{ name: 'greet', arguments: [{ name: 'who' }] }] }),
      'completion/complete': () => ({ completion }),
    }),
  )
  await configure({ desk: UpstreamConfig.parse({ url: server.url, era: 'legacy' }) })
  await isUp('desk')
  const [unit] = await units()
  const [who] = unit?.definitions.capabilities?.[0]?.prompts?.[0]?.arguments ?? []
  const context = { caller: { name: 'ada' }, client: 'one', signal: SIGNAL, arguments: {} }
  expect(await who?.suggest?.('', context as never)).toEqual(passed)
})

it('calls once what a server answers with an error of its own and HTTP 404, and stays connected', async () => {
  const { configure, status, units, isUp } = await stage()
  let calls = 0
  const server = await httpEndpoint(visit => {
    const { method, id } = visit.body
    if (method === 'initialize')
      return visit.result(
        { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'tracker', version: '1' } },
        { 'mcp-session-id': 'one' },
      )
    if (method !== 'tools/call') return answerLegacy(visit)
    calls++
    visit.json(404, { jsonrpc: '2.0', id, error: { code: -32_000, message: 'There is no issue 17' } })
  })
  await configure({ tracker: UpstreamConfig.parse({ url: server.url, era: 'legacy' }) })
  await isUp('tracker')
  const [unit] = await units()
  const [tool] = unit?.definitions.capabilities?.[0]?.tools ?? []
  const context = { caller: { name: 'ada' }, client: 'one', signal: SIGNAL, canAnswer: () => false, progress() {} }
  await expect(tool?.handler({} as never, context as never)).rejects.toMatchObject({
    code: 'UPSTREAM_ERROR',
    message: expect.stringContaining('There is no issue 17'),
  })
  expect(calls).toBe(1)
  expect(status('tracker')).toMatchObject({ state: 'up', restarts: 0 })
})

it('writes nothing down of a server that is gone and forgotten, while a call of it is still under way', async () => {
  const { upstreams, configure, units, isUp, pins } = await stage()
  const [stream, listing, calling] = [deferred<(text: string) => void>(), deferred<Visit>(), deferred<Visit>()]
  let lists = 0
  const server = await httpEndpoint(visit => {
    if (visit.method === 'GET') return stream.resolve(visit.events())
    if (visit.body.method === 'tools/call') return calling.resolve(visit)
    if (visit.body.method === 'tools/list' && ++lists > 1) return listing.resolve(visit)
    answerLegacy(visit)
  })
  const config = UpstreamConfig.parse({ url: server.url, era: 'legacy' })
  await configure({ tracker: config })
  await isUp('tracker')
  const [unit] = await units()
  const [tool] = unit?.definitions.capabilities?.[0]?.tools ?? []
  const context = { caller: { name: 'ada' }, client: 'one', signal: SIGNAL, canAnswer: () => false, progress() {} }
  const call = tool?.handler({} as never, context as never)
  const called = await calling.promise
  const write = await stream.promise
  write('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n')
  const listed = await listing.promise

  await configure({})
  await upstreams.forget('tracker')
  answerLegacy(listed)
  answerLegacy(called)
  expect(await call).toMatchObject({ content: [{ text: '3 issues' }] })
  await upstreams.stop()
  expect(await pins.recall('tracker', config)).toBeUndefined()
})

it('wakes a server that sleeps for whoever subscribes to a resource of it, until nobody does any more', async () => {
  const { configure, status, units } = await stage()
  const uri = 'desk://note'
  const server = await httpEndpoint(visit =>
    answerLegacy(visit, {
      initialize: () => ({
        protocolVersion: '2025-11-25',
        capabilities: { resources: { subscribe: true } },
        serverInfo: { name: 'notes', version: '1' },
      }),
      'resources/list': () => ({ resources: [{ uri, name: 'note' }] }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
      'resources/subscribe': () => ({}),
      'resources/unsubscribe': () => ({}),
    }),
  )
  const subscribed = () => server.visits.filter(({ body }) => body.method === 'resources/subscribe').length
  await configure({ notes: UpstreamConfig.parse({ url: server.url, era: 'legacy', start: 'lazy', idleSeconds: 1 }) })
  await expect.poll(() => status('notes')?.state).toBe('idle')
  const [unit] = await units()
  const [resource] = unit?.definitions.capabilities?.[0]?.resources ?? []
  const stop = await resource?.watch?.(uri, () => {}, { caller: { name: 'ada' } } as never)
  await expect.poll(subscribed).toBe(1)
  expect(status('notes')?.state).toBe('up')
  if (typeof stop === 'function') stop()
  await expect.poll(() => status('notes')?.state).toBe('idle')
})

it('ends a call at once whose server asks something in a session that it has forgotten, and asks nobody', async () => {
  const { configure, units, isUp } = await stage()
  const calling = deferred<Visit>()
  let sessions = 0
  let isForgotten = false
  const server = await httpEndpoint(visit => {
    const { body, headers } = visit
    if (body.method === 'initialize') return visit.result(TRACKER, { 'mcp-session-id': `s${++sessions}` })
    if (isForgotten && headers['mcp-session-id'] === 's1') return visit.json(404)
    if (body.method === 'tools/call' && !isForgotten) return calling.resolve(visit)
    answerLegacy(visit)
  })
  await configure({ tracker: UpstreamConfig.parse({ url: server.url, era: 'legacy' }) })
  await isUp('tracker')
  const [unit] = await units()
  const [tool] = unit?.definitions.capabilities?.[0]?.tools ?? []
  const ask = vi.fn<() => Promise<Answer>>(async () => ({ action: 'accept', content: {} }))
  const common = { caller: { name: 'ada' }, signal: SIGNAL, canAnswer: () => true, progress() {}, ask }
  const call = (client: string) => tool?.handler({} as never, { ...common, client } as never) as Promise<unknown>
  const first = call('one')
  const write = (await calling.promise).events()
  isForgotten = true
  expect(await call('two')).toMatchObject({ content: [{ text: '3 issues' }] })
  const params = { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } }
  write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 'q1', method: 'elicitation/create', params })}\n\n`)
  await expect(first).rejects.toMatchObject({
    code: 'DEPENDENCY_UNAVAILABLE',
    message: expect.stringContaining('It asked something, and could not be given the answer'),
  })
  expect(ask).not.toHaveBeenCalled()
})

const TRACKER = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'tracker', version: '1' },
}

const WRITE = { name: 'write', description: 'Writes a letter.', inputSchema: { type: 'object' } }

/** A server that is at work on a call. */
async function atWork() {
  const { configure, units, isUp, status } = await stage()
  const calls: Visit[] = []
  const server = await httpEndpoint(visit => {
    if (visit.body.method === 'tools/call') return void calls.push(visit)
    answerLegacy(visit, { 'tools/list': () => ({ tools: [WRITE] }) })
  })
  await configure({ tracker: UpstreamConfig.parse({ url: server.url, era: 'legacy', newTools: 'offer' }) })
  await isUp('tracker')
  const [unit] = await units()
  const [tool] = unit?.definitions.capabilities?.[0]?.tools ?? []
  const controller = new AbortController()
  const common = { caller: { name: 'ada' }, client: 'one', canAnswer: () => false, progress() {} }
  const call = (signal = SIGNAL) => tool?.handler({} as never, { ...common, signal } as never) as Promise<unknown>
  const answer = call()
  await expect.poll(() => calls.length).toBe(1)
  return {
    server,
    answer,
    /** Resolves when another has not got through to it. */
    async isFound() {
      const another = call(controller.signal)
      another.catch(() => {})
      await expect.poll(() => status('tracker')?.state).not.toBe('up')
      controller.abort()
    },
    respond: () => calls[0]?.result({ content: [{ type: 'text', text: 'written' }] }),
  }
}

it('has answered what a server was given that takes no new connections, as one does that is about to stop', async () => {
  const { server, answer, isFound, respond } = await atWork()
  server.stopListening()
  await isFound()
  respond()
  expect(await answer).toMatchObject({ content: [{ text: 'written' }] })
})

it('does not know what became of it where the server is gone altogether', async () => {
  const { server, answer } = await atWork()
  await Promise.all([server.close(), expect(answer).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })])
})
