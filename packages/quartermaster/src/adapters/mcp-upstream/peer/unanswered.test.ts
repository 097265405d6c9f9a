import { expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { bareLine, factsOf, NO_EVENTS } from '../testing/bare-session.ts'
import { RpcError, UnreadableAnswer } from './channel.ts'
import { GATHER_MS } from './legacy-questions.ts'
import { createLegacySession } from './legacy-session.ts'

const FOREVER = new AbortController().signal
const ASKING = { signal: FOREVER, delivery: Promise.resolve() }
const EVERYTHING = { form: true, url: true, model: true, roots: true }
const NOTHING = { form: false, url: false, model: false, roots: false }
const details = { requiredCapabilities: { elicitation: {} } }

const UNABLE = new AppError('ANSWER_UNAVAILABLE', 'The client cannot answer this.', { details })
const QUESTION = {
  message: 'Who?',
  messages: [{ role: 'user', content: { type: 'text', text: 'Who?' } }],
  maxTokens: 5,
}

interface Asking {
  others?: number
  asks?: string
  canAnswer?: typeof NOTHING
  why?: AppError
}

/** A server that asks while it is called, and ends the call with what comes after the refusal. */
async function callAsking(
  end: () => Params,
  { others = 0, asks = 'elicitation/create', canAnswer = NOTHING, why = UNABLE }: Asking = {},
) {
  const refused: unknown[] = []
  const clock = createFakeClock()
  const request = async (_method: string, { name }: Params) => {
    if (name === 'waits') return new Promise<Params>(() => {})
    const answer = listener.serve(asks, QUESTION, ASKING).catch(({ code, message }) => ({ code, message }))
    await clock.advance(GATHER_MS)
    refused.push(await answer)
    return end()
  }
  const line = bareLine({ request })
  const { session, listener } = createLegacySession(line, factsOf(), { clock, events: NO_EVENTS })
  const ask = async () => {
    throw why
  }
  const call = (name: string) => {
    const behind = { caller: 'worker', canAnswer, ask, log() {} }
    return session.ask('tools/call', { name }, { signal: FOREVER, behind })
  }
  for (let other = 0; other < others; other++) void call('waits')
  const result = await call('asks').catch(error => error)
  return { refused, result }
}

const FAILED = { isError: true, content: [{ type: 'text', text: 'No name.' }], structuredContent: { code: 404 } }

function fail(): never {
  throw new RpcError({ code: -32_603, message: 'Nobody there.' })
}

it('passes on a failure with a structure as it is, and adds what could not be answered on the way', async () => {
  const { refused, result } = await callAsking(() => FAILED)
  expect(refused).toEqual([{ action: 'decline' }])
  const added = 'No client could answer its question. The client cannot answer this.'
  expect(result).toEqual({ ...FAILED, content: [...FAILED.content, { type: 'text', text: added }] })
})

it('tells of a call that ended with an error what its client would have to be able to do', async () => {
  const { result } = await callAsking(fail)
  expect(result).toMatchObject({ code: 'ANSWER_UNAVAILABLE', details })
  expect(result.message).toBe('The client cannot answer this. Without an answer it failed: Nobody there.')
})

it.each([
  ['sampling/createMessage', UNABLE, { code: -1, message: expect.stringContaining('was refused') }],
  ['elicitation/create', new AppError('ANSWER_UNAVAILABLE', 'It asked 3 times.'), { action: 'cancel' }],
])('tells the same where nobody could be asked after all, or gave no answer that fits: %s', async (asks, why, told) => {
  const { refused, result } = await callAsking(fail, { asks, why, canAnswer: EVERYTHING })
  expect(refused).toEqual([told])
  expect(result).toMatchObject({ code: 'ANSWER_UNAVAILABLE' })
  expect(result.message).toBe(`${why.message} Without an answer it failed: Nobody there.`)
})

it('tells the server what is wrong with a form that nobody can be shown', async () => {
  const why = new AppError('DEFINITION_INVALID', 'The schema cannot be used.')
  const { refused } = await callAsking(() => ({ content: [] }), { why, canAnswer: EVERYTHING })
  expect(refused).toEqual([{ code: -32_602, message: 'This cannot be asked. The schema cannot be used.' }])
})

it('tells the same of a call whose result is nothing but a failure, with others under way too', async () => {
  const bare = { isError: true, content: [{ type: 'text', text: 'No name.' }] }
  for (const others of [0, 3]) {
    const { result } = await callAsking(() => bare, { others })
    expect(result).toMatchObject({ code: 'ANSWER_UNAVAILABLE', details })
    expect(result.message).toBe('The client cannot answer this. Without an answer it failed: No name.')
  }
})

it('says nothing of folders: servers ask for them in passing, and do without', async () => {
  const { refused, result } = await callAsking(() => FAILED, { asks: 'roots/list' })
  const message = expect.stringContaining('The folders are unknown now.')
  expect(refused).toEqual([{ code: -1, message }])
  expect(result).toEqual(FAILED)
  expect((await callAsking(fail, { asks: 'roots/list' })).result).toBeInstanceOf(RpcError)
})

it.each([0, 1])('takes no answer that nobody can read for a failure, with %i others under way', async others => {
  const unread = new UnreadableAnswer('It is no result.')
  const end = () => {
    throw unread
  }
  for (const canAnswer of [NOTHING, EVERYTHING])
    expect((await callAsking(end, { others, canAnswer })).result).toBe(unread)
})

it('leaves a failure alone whose content is no list', async () => {
  const odd = { isError: true, content: 'No.' }
  expect((await callAsking(() => odd)).result).toEqual(odd)
})

it('passes on what a server did without the answer', async () => {
  const { result } = await callAsking(() => ({ content: [] }))
  expect(result).toEqual({ content: [] })
})

it('passes on a failure as it is where another call may have been asked about', async () => {
  const { result } = await callAsking(() => FAILED, { others: 1 })
  expect(result).toEqual(FAILED)
})
