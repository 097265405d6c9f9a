import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { httpEndpoint } from '../src/adapters/mcp-upstream/testing/http-endpoint.ts'
import { answerLegacy } from '../src/adapters/mcp-upstream/testing/legacy-answers.ts'
import { deferred } from '../src/testing/deferred.ts'
import { rawCall, tampered } from './support/raw-call.ts'
import { type ClientEra, openFixture, textOf, type UpstreamFixture } from './support/upstream-fixture.ts'

/**
 * Asks with "asks", cancels that question with "never_mind", and ends the first call with "finish". "fires" asks and waits
 * for no answer, "roots" asks for folders in passing, and "honest" says what it was answered. "given_up" says whether the
 * first call was taken back. "sends_away" sends its first caller to an address before it answers.
 */
const FICKLE = `
import { createInterface } from 'node:readline'
const send = message => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
const text = value => ({ content: [{ type: 'text', text: value }] })
const annotations = { readOnlyHint: true }
const inputSchema = { type: 'object' }
let asking
let asked = 0
let isGivenUp = false
let hasSent = false
const open = new Map()
const ask = (id, method = 'elicitation/create') =>
  send({ id, method, params: { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } } })
const calls = {
  asks(id) {
    asking = id
    ask('q1')
  },
  fires(id) {
    ask('f' + ++asked)
    send({ id, result: text('fired') })
  },
  honest(id) {
    open.set('honest', ({ result, error }) => send({ id, result: text(result?.action ?? error.message) }))
    ask('honest')
  },
  roots(id) {
    const result = { ...text('There is no issue 17.'), isError: true, structuredContent: { code: 404 } }
    open.set('roots', () => send({ id, result }))
    ask('roots', 'roots/list')
  },
  sends_away(id) {
    const elicitations = [{ mode: 'url', url: 'https://example.com/in', message: 'Sign in.', elicitationId: 'e1' }]
    if (hasSent) send({ id, result: text('came back') })
    else send({ id, error: { code: -32042, message: 'Sign in first.', data: { elicitations } } })
    hasSent = true
  },
  never_mind(id) {
    send({ method: 'notifications/cancelled', params: { requestId: 'q1' } })
    send({ id, result: text('cancelled') })
  },
  given_up(id) {
    send({ id, result: text(isGivenUp ? 'given up' : 'waited for') })
  },
  finish(id) {
    send({ id: asking, result: text('done without an answer') })
    send({ id, result: text('finished') })
  },
}
const tools = Object.keys(calls).map(name => ({ name, annotations, inputSchema }))
createInterface(process.stdin).on('line', line => {
  const { id, method, params, ...answer } = JSON.parse(line)
  const facts = { capabilities: { tools: {} }, serverInfo: { name: 'fickle', version: '1' } }
  if (method === 'initialize') send({ id, result: { protocolVersion: params.protocolVersion, ...facts } })
  else if (method === 'tools/list') send({ id, result: { tools } })
  else if (method === 'tools/call') calls[params.name](id)
  else if (method === 'notifications/cancelled') isGivenUp ||= params.requestId === asking
  else if (method === 'ping') send({ id, result: {} })
  else if (!method) open.get(id)?.(answer)
  else if (id !== undefined) send({ id, error: { code: -32601, message: 'There is no such method.' } })
})
`

async function openFickle() {
  const fixture = await openFixture({
    mcpServers: { fickle: { command: process.execPath, args: ['fickle.mjs'], era: 'legacy' } },
    agents: { default: { capabilities: { fickle: {} } }, stranger: { capabilities: { fickle: {} } } },
    files: { 'fickle.mjs': FICKLE },
  })
  await expect.poll(async () => (await fixture.status('fickle'))?.state).toBe('up')
  return fixture
}

it('closes a question in front when the server cancels it, and the call goes on', async () => {
  const fixture = await openFickle()
  const client = await fixture.connect('legacy', { capabilities: { elicitation: { form: {} } } })
  const thinking = deferred<AbortSignal>()
  client.setRequestHandler('elicitation/create', (_request, { mcpReq: { signal } }) => {
    thinking.resolve(signal)
    return new Promise(() => {})
  })
  const call = textOf(client, 'fickle_asks')
  const signal = await thinking.promise
  expect(await textOf(client, 'fickle_never_mind')).toBe('cancelled')
  await expect.poll(() => signal.aborted).toBe(true)
  expect(await textOf(client, 'fickle_finish')).toBe('finished')
  expect(await call).toBe('done without an answer')
})

it('passes questions on after many for which their server did not wait', async () => {
  const fixture = await openFickle()
  for (const era of ['auto', 'legacy'] as const) {
    const client = await fixture.connect(era, { capabilities: { elicitation: { form: {} } } })
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: {} }))
    for (let round = 0; round < 20; round++) expect(await textOf(client, 'fickle_fires')).toBe('fired')
    expect(await textOf(client, 'fickle_honest')).toBe('accept')
  }
})

it('passes on the question for one agent while another is where the server sent it', async () => {
  const fixture = await openFickle()
  const away = await fixture.connect('auto', { capabilities: { elicitation: { url: {} } } })
  const sent = deferred<void>()
  const back = deferred<void>()
  away.setRequestHandler('elicitation/create', async () => {
    sent.resolve()
    await back.promise
    return { action: 'accept' }
  })
  const stranger = await fixture.connect('auto', { agent: 'stranger', capabilities: { elicitation: { form: {} } } })
  stranger.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: {} }))
  const call = textOf(away, 'fickle_sends_away')
  await sent.promise
  expect(await textOf(stranger, 'fickle_honest')).toBe('accept')
  back.resolve()
  expect(await call).toBe('came back')
  // On one connection: no agent needed one of its own.
  expect(await fixture.status('fickle')).toMatchObject({ connections: 1 })
})

it('passes on a failure as it is of a tool that asked for folders in passing', async () => {
  const fixture = await openFickle()
  for (const era of ['auto', 'legacy'] as const) {
    const client = await fixture.connect(era)
    expect(await client.callTool({ name: 'fickle_roots', arguments: {} })).toMatchObject({
      content: [{ type: 'text', text: 'There is no issue 17.' }],
      isError: true,
      structuredContent: { code: 404 },
    })
  }
})

/** How long a person may take to answer. */
const ANSWER_MS = 600_000

/** Waits as long as a person may take end when the test says so; all others go by the machine. */
function timeForAnswers() {
  const due: (() => void)[] = []
  const after = globalThis.setTimeout
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((task: () => void, ms?: number, ...more: []) => {
    if (ms !== ANSWER_MS) return after(task, ms, ...more)
    due.push(task)
    return after(() => {}, 0)
  }) as typeof setTimeout)
  onTestFinished(() => spy.mockRestore())
  return { due, pass: () => due.splice(0).forEach(task => task()) }
}

interface InVain {
  readonly tool: string
  readonly era: ClientEra
  /** What is so for as long as there is time. */
  before(): Promise<void>
}

/** Calls a tool that asks, and lets the time for an answer pass. */
async function callInVain(fixture: UpstreamFixture, { tool, era, before }: InVain): Promise<Client> {
  const time = timeForAnswers()
  const client = await fixture.connect(era, { capabilities: { elicitation: { form: {} } } })
  const thinking = deferred<void>()
  client.setRequestHandler('elicitation/create', () => {
    thinking.resolve()
    return new Promise(() => {})
  })
  // It ends with its client.
  textOf(client, tool).catch(() => {})
  await thinking.promise
  await before()
  expect(time.due).toHaveLength(1)
  time.pass()
  return client
}

describe.each(['auto', 'legacy'] as const)(
  'cancels a call when no person has answered its question in time (%s)',
  era => {
    it('at a program', async () => {
      const fixture = await openFickle()
      const other = await fixture.connect()
      const before = async () => expect(await textOf(other, 'fickle_given_up')).toBe('waited for')
      const client = await callInVain(fixture, { tool: 'fickle_asks', era, before })
      await expect.poll(() => textOf(client, 'fickle_given_up')).toBe('given up')
    })

    it('by HTTP', async () => {
      const params = { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } }
      const question = { jsonrpc: '2.0', id: 'q1', method: 'elicitation/create', params }
      const server = await httpEndpoint(visit => {
        if (visit.body.method !== 'tools/call') return answerLegacy(visit)
        visit.events()(`data: ${JSON.stringify(question)}\n\n`)
      })
      const fixture = await openFixture({ mcpServers: { post: { url: server.url, era: 'legacy' } } })
      await expect.poll(async () => (await fixture.status('post'))?.state).toBe('up')
      const told = (method: string) => server.visits.map(({ body }) => body).filter(body => body.method === method)
      const before = async () => expect(told('notifications/cancelled')).toEqual([])
      await callInVain(fixture, { tool: 'post_count', era, before })
      const [call] = told('tools/call')
      await expect.poll(() => told('notifications/cancelled')).toMatchObject([{ params: { requestId: call?.id } }])
    })
  },
)

it('takes an answer to the question of a server with the state it was asked with, unchanged', async () => {
  const fixture = await openFickle()
  const call = await rawCall(fixture)
  const first = await call('fickle_honest', {})
  expect(first).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) })
  const [key = ''] = Object.keys(first['inputRequests'] as object)
  const { requestState } = first
  const answer = (action: string, state: unknown) => ({
    inputResponses: { [key]: { action, content: {} } },
    requestState: state,
  })
  const forged = await call('fickle_honest', {}, answer('accept', tampered(requestState)))
  expect(forged).toMatchObject({ code: -32_602, data: { reason: 'invalid_request_state' } })
  const gone = { isError: true, structuredContent: { error: { code: 'CURSOR_GONE' } } }
  const stranger = await rawCall(fixture, { agent: 'stranger' })
  expect(await stranger('fickle_honest', {}, answer('accept', requestState))).toMatchObject(gone)
  expect(await call('fickle_roots', {}, answer('accept', requestState))).toMatchObject(gone)
  expect(await call('fickle_honest', { other: 1 }, answer('accept', requestState))).toMatchObject(gone)
  // None of these has reached the server.
  expect(await call('fickle_honest', {}, answer('decline', requestState))).toMatchObject({
    content: [{ text: 'decline' }],
  })
})

it('calls again in the same session when a person has been where the server sent them, whatever happens meanwhile', async () => {
  const data = {
    elicitations: [{ mode: 'url', url: 'https://example.com/in', message: 'Sign in.', elicitationId: 'e1' }],
  }
  const ABOUT = { capabilities: { tools: {} }, serverInfo: { name: 'post', version: '1' } }
  let sessions = 0
  const calls: (string | undefined)[] = []
  const server = await httpEndpoint(visit => {
    const { body, headers } = visit
    if (body.method === 'initialize')
      return visit.result({ protocolVersion: '2025-11-25', ...ABOUT }, { 'mcp-session-id': `s${++sessions}` })
    if (body.method !== 'tools/call') return answerLegacy(visit)
    calls.push(String(headers['mcp-session-id']))
    if (calls.length > 1) return answerLegacy(visit)
    visit.json(200, { jsonrpc: '2.0', id: body.id, error: { code: -32_042, message: 'Sign in first.', data } })
  })
  const entry = { url: server.url, era: 'legacy' }
  const fixture = await openFixture({ mcpServers: { post: entry } })
  await expect.poll(async () => (await fixture.status('post'))?.tools.offered).toBe(1)
  const client = await fixture.connect('auto', { capabilities: { elicitation: { url: {} } } })
  const asked = deferred<void>()
  const visited = deferred<void>()
  client.setRequestHandler('elicitation/create', async () => {
    asked.resolve()
    await visited.promise
    return { action: 'accept' }
  })
  const answer = textOf(client, 'post_count')
  await asked.promise
  // With another entry there is another connection, and one that has nothing to do is ended.
  const changed = { mcpServers: { post: { ...entry, startSeconds: 50 } } }
  await writeFile(join(fixture.dir, 'quartermaster.config.json'), JSON.stringify(changed))
  expect(await fixture.run('reload')).toMatchObject({ code: 0 })
  await expect.poll(() => sessions).toBe(2)
  visited.resolve()
  expect(await answer).toBe('3 issues')
  expect(calls).toEqual(['s1', 's1'])
})

it.each(['auto', 'legacy'] as const)(
  'asks no person a second time when the server ends meanwhile, also to read (%s)',
  async era => {
    const fixture = await openFickle()
    const client = await fixture.connect(era, { capabilities: { elicitation: { form: {} } } })
    let asked = 0
    client.setRequestHandler('elicitation/create', async () => {
      asked++
      const [pid = 0] = (await fixture.status('fickle'))?.pids ?? []
      process.kill(pid, 'SIGKILL')
      await expect.poll(async () => (await fixture.status('fickle'))?.restarts).toBe(1)
      return { action: 'accept', content: {} }
    })
    const answer = await client.callTool({ name: 'fickle_honest', arguments: {} })
    expect(answer).toMatchObject({ isError: true })
    expect(asked).toBe(1)
    // What asks nothing is sent again, and the server is there.
    expect(await textOf(client, 'fickle_given_up')).toBe('waited for')
  },
)
