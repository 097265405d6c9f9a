import { expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { bareLine, factsOf, NO_EVENTS } from '../testing/bare-session.ts'
import { RpcError } from './channel.ts'
import { GATHER_MS } from './legacy-questions.ts'
import { createLegacySession } from './legacy-session.ts'

const FOREVER = new AbortController().signal
const ASKING = { signal: FOREVER, delivery: Promise.resolve() }
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
    const requester = { caller: 'worker', canAnswer, ask, log() {} }
    return session.ask('tools/call', { name }, { signal: FOREVER, requester })
  }
  for (let other = 0; other < others; other++) void call('waits')
  const result = await call('asks').catch(error => error)
  return { refused, result }
}

function fail(): never {
  throw new RpcError({ code: -32_603, message: 'Nobody there.' })
}

it('tells of a call that ended with an error what its client would have to be able to do', async () => {
  const { result } = await callAsking(fail)
  expect(result).toMatchObject({ code: 'ANSWER_UNAVAILABLE', details })
  expect(result.message).toBe('The client cannot answer this. Without an answer it failed: Nobody there.')
})
it('passes on what a server did without the answer', async () => {
  const { result } = await callAsking(() => ({ content: [] }))
  expect(result).toEqual({ content: [] })
})
