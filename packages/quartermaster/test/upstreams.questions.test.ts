import { expect, it } from 'vitest'
import { deferred } from '../src/testing/deferred.ts'
import { openDesk, textOf } from './support/upstream-desk.ts'

/**
 * Asks with "asks", cancels that question with "never_mind", and ends the first call with "finish". "fires" asks and waits
 * for no answer, "roots" asks for folders in passing, and "honest" says what it was answered.
 */
const FICKLE = `
import { createInterface } from 'node:readline'
const send = message => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
const text = value => ({ content: [{ type: 'text', text: value }] })
const annotations = { readOnlyHint: true }
const inputSchema = { type: 'object' }
let asking
let asked = 0
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
  never_mind(id) {
    send({ method: 'notifications/cancelled', params: { requestId: 'q1' } })
    send({ id, result: text('cancelled') })
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
  else if (method === 'ping') send({ id, result: {} })
  else if (!method) open.get(id)?.(answer)
  else if (id !== undefined) send({ id, error: { code: -32601, message: 'There is no such method.' } })
})
`

async function openFickle() {
  const desk = await openDesk({
    mcpServers: { fickle: { command: process.execPath, args: ['fickle.mjs'], era: 'legacy' } },
    files: { 'fickle.mjs': FICKLE },
  })
  await expect.poll(async () => (await desk.status('fickle'))?.state, { timeout: 15_000 }).toBe('up')
  return desk
}

it('closes a question in front when the server cancels it, and the call goes on', { timeout: 60_000 }, async () => {
  const desk = await openFickle()
  const client = await desk.connect('legacy', { capabilities: { elicitation: { form: {} } } })
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

it('passes questions on after many for which their server did not wait', { timeout: 60_000 }, async () => {
  const desk = await openFickle()
  for (const era of ['auto', 'legacy'] as const) {
    const client = await desk.connect(era, { capabilities: { elicitation: { form: {} } } })
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: {} }))
    for (let round = 0; round < 20; round++) expect(await textOf(client, 'fickle_fires')).toBe('fired')
    expect(await textOf(client, 'fickle_honest')).toBe('accept')
  }
})

it('passes on a failure as it is of a tool that asked for folders in passing', { timeout: 60_000 }, async () => {
  const desk = await openFickle()
  for (const era of ['auto', 'legacy'] as const) {
    const client = await desk.connect(era)
    expect(await client.callTool({ name: 'fickle_roots', arguments: {} })).toMatchObject({
      content: [{ type: 'text', text: 'There is no issue 17.' }],
      isError: true,
      structuredContent: { code: 404 },
    })
  }
})
