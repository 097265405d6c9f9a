import { expect, it } from 'vitest'
import type { Answer } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { type Id, isRequest, isResponse, type Message } from '../../mcp-wire/index.ts'
import type { OpenChannel } from '../peer/channel.ts'
import { openSession } from '../peer/open-session.ts'
import { NO_EVENTS } from '../testing/bare-session.ts'
import { createConnection } from './connection.ts'

const FOREVER = new AbortController().signal
const MET = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } }

/** A server that says who it is, and nothing more. */
const mute: OpenChannel = async events => ({
  async send(message) {
    if (!isRequest(message) || message.method !== 'initialize') return
    events.onMessage({ jsonrpc: '2.0', id: message.id, result: MET }, undefined)
  },
  close: async () => events.onEnd({ kind: 'closed', reason: 'The connection was closed.' }),
  pids: () => [],
  hasExchanges: false,
})

/** One that asks when it is called, and hears nothing but the answer. */
const asking: OpenChannel = async (events, signal) => {
  let call: Id = 0
  const say = (message: Message) => events.onMessage(message, undefined)
  const channel = await mute(events, signal)
  return {
    ...channel,
    async send(message) {
      const jsonrpc = '2.0' as const
      if (isResponse(message)) say({ jsonrpc, id: call, result: { told: message.result } })
      if (!isRequest(message) || message.method !== 'tools/call') return channel.send(message)
      call = message.id
      say({ jsonrpc, id: 'question', method: 'elicitation/create', params: { message: 'Who?' } })
    },
  }
}

/** A call of a server that never answers by itself. */
async function waitingCall({ open = mute, answer = async (): Promise<Answer> => ({ action: 'decline' }) } = {}) {
  const clock = createFakeClock()
  const client = { name: 'test', version: '1' }
  const connection = createConnection({
    clock,
    random: () => 1,
    upstream: 's',
    dependency: 'upstream-s',
    target: {},
    idleMs: undefined,
    startMs: () => 5_000,
    callMs: () => 20_000,
    isKept: true,
    noise: () => undefined,
    open: signal => openSession({ open, era: 'legacy', client, clock, events: NO_EVENTS }, signal),
    fingerprint: async () => '',
    isWatched: () => false,
    onUp() {},
    onChange() {},
    note() {},
  })
  const session = await connection.take({ budgetMs: 1_000, signal: FOREVER })
  const canAnswer = { form: true, url: false, model: false, roots: false }
  const behind = { caller: 'worker', canAnswer, ask: answer, log() {} }
  const call = session.ask('tools/call', {}, { signal: FOREVER, behind })
  call.catch(() => {})
  return { clock, connection, call }
}

it('tells the calls that a hang has ended why', async () => {
  const { clock, call } = await waitingCall()
  await clock.advance(60_000)
  await expect(call).rejects.toMatchObject({ wasSent: 'maybe', message: 'It runs, but does not answer any more.' })
})

it('tells the calls that a person has ended why', async () => {
  const { connection, call } = await waitingCall()
  await connection.restart()
  await expect(call).rejects.toMatchObject({ wasSent: 'maybe', message: 'It is being restarted.' })
})

it('tells the calls that its end has cut off why', async () => {
  const { connection, call } = await waitingCall()
  await connection.stop('It was removed.')
  await expect(call).rejects.toMatchObject({ wasSent: 'maybe', message: 'It was removed.' })
})

it('lets the call under way end when it is left, and ends then', async () => {
  const person = deferred<Answer>()
  const { clock, connection, call } = await waitingCall({ open: asking, answer: () => person.promise })
  const left = connection.leave('It was removed.')
  await clock.advance(60_000)
  expect(connection.state().kind).toBe('up')
  expect(connection.takeNow()).toBeUndefined()
  await expect(connection.take({ budgetMs: 1_000, signal: FOREVER })).rejects.toMatchObject({
    code: 'DEPENDENCY_UNAVAILABLE',
    message: expect.stringContaining('It was removed.'),
  })
  person.resolve({ action: 'accept', content: { name: 'Ada' } })
  expect(await call).toEqual({ told: { action: 'accept', content: { name: 'Ada' } } })
  await clock.advance(50)
  await left
  expect(connection.state()).toMatchObject({ kind: 'stopped', reason: 'It was removed.' })
})

it('is ended at once after it was left, when there is no time any more', async () => {
  const { clock, connection, call } = await waitingCall()
  const left = connection.leave('It was removed.')
  await connection.stop('Quartermaster is stopping.')
  await expect(call).rejects.toMatchObject({ wasSent: 'maybe', message: 'Quartermaster is stopping.' })
  expect(connection.busy()).toBe(0)
  await clock.advance(50)
  await left
  expect(connection.state().kind).toBe('stopped')
})

it('ends with everything the calls too that a server might have answered which has forgotten us since', async () => {
  let forget = () => {}
  const forgetful: OpenChannel = async (events, signal) => {
    forget = () => events.onEnd({ kind: 'sessionLost', reason: 'The server has forgotten the session.' })
    return { ...(await mute(events, signal)), close: async () => {} }
  }
  const { connection, call } = await waitingCall({ open: forgetful })
  const forgotten = connection.session()
  forget()
  await expect.poll(() => connection.session() !== forgotten && connection.state().kind).toBe('up')
  await connection.stop('It was removed.')
  await expect(call).rejects.toMatchObject({ wasSent: 'maybe', message: 'The connection was closed.' })
})

it('does not end the call of one that waits for a person, and hears nothing else meanwhile', async () => {
  const person = deferred<Answer>()
  const { clock, connection, call } = await waitingCall({ open: asking, answer: () => person.promise })
  await clock.advance(600_000)
  person.resolve({ action: 'accept', content: { name: 'Ada' } })
  expect(await call).toEqual({ told: { action: 'accept', content: { name: 'Ada' } } })
  expect(connection.restarts()).toBe(0)
})
