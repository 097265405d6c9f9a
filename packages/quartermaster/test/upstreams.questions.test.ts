import { expect, it } from 'vitest'
import { deferred } from '../src/testing/deferred.ts'
import { openDesk, textOf } from './support/upstream-desk.ts'

/** Asks with "asks", cancels that question with "never_mind", and ends the first call with "finish". */
const FICKLE = `
import { createInterface } from 'node:readline'
const send = message => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
const text = value => ({ content: [{ type: 'text', text: value }] })
const annotations = { readOnlyHint: true }
const tools = ['asks', 'never_mind', 'finish'].map(name => ({ name, annotations, inputSchema: { type: 'object' } }))
let asking
const calls = {
  asks(id) {
    asking = id
    const requestedSchema = { type: 'object', properties: {} }
    send({ id: 'q1', method: 'elicitation/create', params: { message: 'Sure?', requestedSchema } })
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
createInterface(process.stdin).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  const facts = { capabilities: { tools: {} }, serverInfo: { name: 'fickle', version: '1' } }
  if (method === 'initialize') send({ id, result: { protocolVersion: params.protocolVersion, ...facts } })
  else if (method === 'tools/list') send({ id, result: { tools } })
  else if (method === 'tools/call') calls[params.name](id)
  else if (method === 'ping') send({ id, result: {} })
  else if (method && id !== undefined) send({ id, error: { code: -32601, message: 'There is no such method.' } })
})
`

it('closes a question in front when the server cancels it, and the call goes on', { timeout: 60_000 }, async () => {
  const desk = await openDesk({
    mcpServers: { fickle: { command: process.execPath, args: ['fickle.mjs'], era: 'legacy' } },
    files: { 'fickle.mjs': FICKLE },
  })
  await expect.poll(async () => (await desk.status('fickle'))?.state, { timeout: 15_000 }).toBe('up')
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
