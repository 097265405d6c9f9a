import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { factsOf, NO_EVENTS } from '../testing/bare-session.ts'
import { SendFailure } from './channel.ts'
import { createModernSession } from './modern-session.ts'
import type { RpcChannel } from './peer.ts'

const CHANNEL = { hasExchanges: true }
const FACTS = factsOf({ era: 'modern', version: '2026-07-28' })
const ASKS = {
  resultType: 'input_required',
  inputRequests: { sure: { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: {} } } },
  requestState: 'state',
}

/** Calls a tool of a server whose answers are written down beforehand. */
function callWith(...answers: (Params | SendFailure)[]) {
  const clock = createFakeClock()
  const sent: Params[] = []
  const seen = { asked: 0 }
  const request = async (_method: string, params: Params) => {
    sent.push(params)
    const answer = answers.shift() ?? {}
    if (answer instanceof Error) throw answer
    return answer
  }
  const line = { peer: { request }, channel: CHANNEL, ended: new Promise(() => {}) } as unknown as RpcChannel
  const { session } = createModernSession(line, FACTS, {
    client: { name: 'c', version: '1' },
    clock,
    events: NO_EVENTS,
  })
  const canAnswer = { form: true, url: false, model: false, roots: false }
  const ask = async () => (seen.asked++, { action: 'accept' as const, content: {} })
  const requester = { caller: 'worker', canAnswer, ask, log() {} }
  const result = session.ask('tools/call', { name: 'pay' }, { signal: new AbortController().signal, requester })
  result.catch(() => {})
  return { clock, sent, seen, result }
}

it('was not sent when its first round was not', async () => {
  const { result } = callWith(new SendFailure('Nothing listens there.', { wasSent: 'no' }))
  await expect(result).rejects.toMatchObject({ wasSent: 'no' })
})

it('never counts as not sent once its server has asked back', async () => {
  const { result, sent } = callWith(ASKS, new SendFailure('Nothing listens there.', { wasSent: 'no', said: 'x' }))
  await expect(result).rejects.toMatchObject({ message: 'Nothing listens there.', wasSent: 'maybe', said: 'x' })
  expect(sent).toHaveLength(2)
})
it.each([
  [
    'a question of many characters',
    { sure: { method: 'elicitation/create', params: { message: 'y'.repeat(1_100_000) } } },
  ],
  [
    'a question of many pieces',
    { sure: { method: 'sampling/createMessage', params: { messages: Array(60_000).fill(0) } } },
  ],
  ['a method without an end', { sure: { method: 'y'.repeat(100_000) } }],
])('fails with few words for %s, and asks nobody', async (_what, inputRequests) => {
  const { result, seen } = callWith({ ...ASKS, inputRequests })
  const { message } = await result.then(
    () => new Error('It went on.'),
    (error: Error) => error,
  )
  expect(message).toMatch(
    /^It asked (?:with ".*"\. This cannot be asked: it has more than|for something that is unknown)/,
  )
  expect(message.length).toBeLessThan(300)
  expect(seen.asked).toBe(0)
})
it('repeats one round, and asks nobody again, when a busy server says when to come back', async () => {
  const busy = new SendFailure('It is busy.', { wasSent: 'no', status: 429, retryAfterMs: 2_000 })
  const { result, sent, seen, clock } = callWith(ASKS, busy, { content: [] })
  await clock.advance(2_000)
  expect(await result).toEqual({ content: [] })
  expect(seen.asked).toBe(1)
  expect(sent.map(({ requestState }) => requestState)).toEqual([undefined, 'state', 'state'])
})
