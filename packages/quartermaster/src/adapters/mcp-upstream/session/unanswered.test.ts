import { expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { createLegacySession } from './legacy-session.ts'
import type { Line } from './line.ts'
import { RpcError } from './rpc-error.ts'

const EVENTS = { onListChanged() {}, onResourceUpdated() {}, onLog() {}, onCrowded() {} }
const FACTS = {
  era: 'legacy',
  version: '',
  server: { name: '', version: '' },
  instructions: '',
  capabilities: {},
} as const
const FOREVER = new AbortController().signal
const NOTHING = { form: false, url: false, model: false, roots: false }
const details = { requiredCapabilities: { elicitation: {} } }

/** A server that asks while it is called, and ends the call with what comes after the refusal. */
async function callAsking(end: () => Params, { others = 0 } = {}) {
  const refused: unknown[] = []
  const request = async (_method: string, { name }: Params) => {
    if (name === 'waits') return new Promise<Params>(() => {})
    refused.push(await listener.serve('elicitation/create', { message: 'Who?' }, FOREVER))
    return end()
  }
  const line = { peer: { request } } as unknown as Line
  const { session, listener } = createLegacySession(line, FACTS, { clock: createFakeClock(), events: EVENTS })
  const ask = async () => {
    throw new AppError('ANSWER_UNAVAILABLE', 'The client cannot answer this.', { details })
  }
  const call = (name: string) => {
    const behind = { caller: 'worker', canAnswer: NOTHING, ask, log() {} }
    return session.ask('tools/call', { name }, { signal: FOREVER, behind })
  }
  for (let other = 0; other < others; other++) void call('waits')
  const result = await call('asks').catch(error => error)
  return { refused, result }
}

const FAILED = { isError: true, content: [{ type: 'text', text: 'No name, no greeting.' }] }

it('tells of a call that failed for want of an answer what its client would have to be able to do', async () => {
  const { refused, result } = await callAsking(() => FAILED)
  expect(refused).toEqual([{ action: 'decline' }])
  expect(result).toMatchObject({ code: 'ANSWER_UNAVAILABLE', details })
  expect(result.message).toBe('The client cannot answer this. Without an answer it failed: No name, no greeting.')
})

it('tells the same where the server answers with an error', async () => {
  const { result } = await callAsking(() => {
    throw new RpcError({ code: -32_603, message: 'Nobody there.' })
  })
  expect(result).toMatchObject({ code: 'ANSWER_UNAVAILABLE', details })
})

it('passes on what a server did without the answer', async () => {
  const { result } = await callAsking(() => ({ content: [] }))
  expect(result).toEqual({ content: [] })
})

it('passes on a failure as it is where another call may have been asked about', async () => {
  const { result } = await callAsking(() => FAILED, { others: 1 })
  expect(result).toEqual(FAILED)
})
