import { expect, it, onTestFinished } from 'vitest'
import { HttpUpstream } from '../../../contracts/index.ts'
import type { Message } from '../../mcp-wire/index.ts'
import { openSession } from '../peer/open-session.ts'
import type { Behind } from '../peer/session.ts'
import { NO_EVENTS } from '../testing/bare-session.ts'
import { httpEndpoint } from '../testing/http-endpoint.ts'
import { authFixture } from '../testing/oauth-fixture.ts'
import { createChildLog } from '../transport/child-log.ts'
import { type TargetDeps, targetOf } from './target.ts'

const FOREVER = new AbortController().signal
const MET = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } }

/** A server that answers every call on a stream of its own when a test says so, reached as its entry says. */
async function stage() {
  const streams: ((message: Omit<Message, 'jsonrpc'>) => void)[] = []
  const ids: number[] = []
  let isShut = false
  const endpoint = await httpEndpoint(visit => {
    const { method, body, json, result, events } = visit
    if (method !== 'POST') return json(405)
    if (!('id' in body)) return json(202)
    if (isShut) return json(404)
    if (body.method === 'initialize') return result(MET, { 'mcp-session-id': 'first' })
    const write = events()
    ids.push(Number(body.id))
    streams.push(message => write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`))
  })
  const { auth, clock } = authFixture()
  const config = HttpUpstream.parse({ url: endpoint.url })
  const log = createChildLog({ clock })
  const deps = { name: 's', config, projectDir: '.', dataDir: '.', clock, auth, log } as unknown as TargetDeps
  const open = targetOf(deps).open(undefined)
  const client = { name: 'test', version: '1' }
  const session = await openSession({ open, era: 'legacy', client, clock, events: NO_EVENTS }, FOREVER)
  onTestFinished(() => session.close())
  return {
    /** Resolves when the server has it, to what comes of it. */
    async call(caller: string) {
      const number = streams.length
      const result = session.ask('tools/call', { name: 'pay' }, { signal: FOREVER, behind: behindOf(caller) })
      // Whoever looks at it does so later.
      result.catch(() => {})
      await expect.poll(() => streams.length).toBe(number + 1)
      return { result, id: ids[number] ?? 0, say: streams[number] ?? (() => {}) }
    },
    /** The server lets nobody in any more, and goes on with what it has let in. */
    async shut() {
      isShut = true
      await session.ping(FOREVER).catch(() => {})
      await session.ended
    },
  }
}

function behindOf(caller: string): Behind {
  const canAnswer = { form: true, url: true, model: true, roots: true }
  return { caller, canAnswer, ask: async () => ({ action: 'accept', content: {} }), log() {} }
}

it.each([
  ['the same caller', 'ada'],
  ['another caller', 'bob'],
])('ends for a question of a server that is shut the call it came for, and none of %s', async (_whose, other) => {
  const { call, shut } = await stage()
  const paying = await call('ada')
  const beside = await call(other)
  await shut()
  const requestedSchema = { type: 'object', properties: {} }
  paying.say({ id: 'q1', method: 'elicitation/create', params: { message: 'Sure?', requestedSchema } })
  await expect(paying.result).rejects.toMatchObject({
    message: 'It asked something, and could not be given the answer: The server has forgotten the session.',
  })
  beside.say({ id: beside.id, result: { content: [] } })
  expect(await beside.result).toEqual({ content: [] })
})
