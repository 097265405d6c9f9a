import { expect, it } from 'vitest'
import { deferred } from '../../../testing/deferred.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { factsOf, NO_EVENTS } from '../testing/bare-session.ts'
import { untilAborted } from '../testing/until-aborted.ts'
import { type ChannelEnd, SendFailure } from './channel.ts'
import { createModernSession } from './modern-session.ts'
import type { RequestOptions } from './peer.ts'
import type { RpcChannel } from './rpc-channel.ts'
import type { Behind } from './session.ts'

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
  const behind = { caller: 'worker', canAnswer, ask, log() {} }
  const result = session.ask('tools/call', { name: 'pay' }, { signal: new AbortController().signal, behind })
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

it('is answered as often as a client of any era may be asked, and no more', async () => {
  const rounds = (amount: number) => Array.from({ length: amount }, () => ASKS)
  const patient = callWith(...rounds(50), { content: [] })
  expect(await patient.result).toEqual({ content: [] })
  const endless = callWith(...rounds(51))
  await expect(endless.result).rejects.toThrow('It asked back more than 50 times.')
  expect([patient.seen.asked, endless.seen.asked]).toEqual([50, 50])
})

it('may be asked as much at once as a server of the era before may ask, and no more', async () => {
  const questions = (amount: number) =>
    Object.fromEntries(Array.from({ length: amount }, (_, at) => [`q${at}`, ASKS.inputRequests.sure]))
  const patient = callWith({ ...ASKS, inputRequests: questions(16) }, { content: [] })
  expect(await patient.result).toEqual({ content: [] })
  const endless = callWith({ ...ASKS, inputRequests: questions(17) })
  await expect(endless.result).rejects.toThrow('It asked 17 questions at once. 16 are the most.')
  expect([patient.seen.asked, endless.seen.asked]).toEqual([16, 0])
})

it('does not take its own word about a question that is none for the answer of the server', async () => {
  const inputRequests = { sure: { method: 'elicitation/create', params: { message: '' } } }
  const { result, seen } = callWith({ ...ASKS, inputRequests })
  await expect(result).rejects.toThrow(/^It asked with "elicitation\/create"\. This cannot be asked\. .*message/)
  expect(seen.asked).toBe(0)
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

it('says few words of a result of an unknown kind', async () => {
  const { result } = callWith({ resultType: 'y'.repeat(100_000) })
  await expect(result).rejects.toThrow(/of the kind "y{159}…"\.$/)
})

it('repeats one round, and asks nobody again, when a busy server says when to come back', async () => {
  const busy = new SendFailure('It is busy.', { wasSent: 'no', status: 429, retryAfterMs: 2_000 })
  const { result, sent, seen, clock } = callWith(ASKS, busy, { content: [] })
  await clock.advance(2_000)
  expect(await result).toEqual({ content: [] })
  expect(seen.asked).toBe(1)
  expect(sent.map(({ requestState }) => requestState)).toEqual([undefined, 'state', 'state'])
})

it('repeats no round that a busy server may have begun', async () => {
  const busy = new SendFailure('It is busy.', { wasSent: 'maybe', status: 503, retryAfterMs: 1_000 })
  const { result, sent, clock } = callWith(ASKS, busy, { content: [] })
  await clock.advance(10_000)
  await expect(result).rejects.toMatchObject({ wasSent: 'maybe', retryAfterMs: undefined })
  expect(sent).toHaveLength(2)
})

it('takes back what is being asked when its server is gone, whose answer nobody could take any more', async () => {
  const over = deferred<ChannelEnd>()
  const asked = deferred<AbortSignal | undefined>()
  const line = { peer: { request: async () => ASKS }, channel: CHANNEL, ended: over.promise } as unknown as RpcChannel
  const parts = { client: { name: 'c', version: '1' }, clock: createFakeClock(), events: NO_EVENTS }
  const { session } = createModernSession(line, FACTS, parts)
  const ask: Behind['ask'] = (_question, signal) => {
    asked.resolve(signal)
    return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
  const canAnswer = { form: true, url: false, model: false, roots: false }
  const behind = { caller: 'worker', canAnswer, ask, log() {} }
  const result = session.ask('tools/call', { name: 'pay' }, { signal: new AbortController().signal, behind })
  const signal = await asked.promise
  over.resolve({ kind: 'exited', reason: 'It ended with exit code 1.' })
  await expect(result).rejects.toMatchObject({ message: 'It ended with exit code 1.', wasSent: 'maybe' })
  expect(signal?.aborted).toBe(true)
})

it('stays refused when a later round is', async () => {
  const { result } = callWith(ASKS, new SendFailure('It says 403.', { wasSent: 'refused', status: 403 }))
  await expect(result).rejects.toMatchObject({ wasSent: 'refused', status: 403 })
})

it.each([
  ['to nobody else while its server may be at work on it', false, []],
  ['to whoever is left where it ended with its exchange', true, ['a word']],
])('passes on lines of the log after a call was given up %s', async (_, hasExchanges, told) => {
  const request = (_method: string, _params: Params, { signal }: RequestOptions) => untilAborted(signal)
  const line = { peer: { request }, channel: { hasExchanges }, ended: new Promise(() => {}) } as unknown as RpcChannel
  const parts = { client: { name: 'c', version: '1' }, clock: createFakeClock(), events: NO_EVENTS }
  const { session, listener } = createModernSession(line, FACTS, parts)
  const canAnswer = { form: false, url: false, model: false, roots: false }
  const lines: string[] = []
  const call = (caller: string, signal: AbortSignal) => {
    const log = (_level: string, text: string) => void lines.push(text)
    const behind = { caller, canAnswer, ask: async () => ({ action: 'decline' as const }), log }
    return session.ask('tools/call', { name: 'pay' }, { signal, behind })
  }
  const ada = new AbortController()
  const given = call('ada', ada.signal)
  void call('bob', new AbortController().signal)
  ada.abort(new Error('enough'))
  await expect(given).rejects.toThrow('enough')
  listener.notice('notifications/message', { level: 'info', data: 'a word' })
  expect(lines).toEqual(told)
})

it('is at work while it lists for us', async () => {
  const answer = deferred<Params>()
  const peer = { request: () => answer.promise }
  const line = { peer, channel: CHANNEL, ended: new Promise(() => {}) } as unknown as RpcChannel
  const parts = { client: { name: 'c', version: '1' }, clock: createFakeClock(), events: NO_EVENTS }
  const { session } = createModernSession(line, FACTS, parts)
  const listed = session.page('tools', undefined, new AbortController().signal)
  expect([session.isAtRest(), session.busy()]).toEqual([false, 1])
  answer.resolve({ tools: [] })
  await listed
  expect([session.isAtRest(), session.busy()]).toEqual([true, 0])
})
