import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { isRequest } from '../../mcp-wire/index.ts'
import type { OpenChannel } from '../session/channel.ts'
import { openSession } from '../session/open-session.ts'
import { createConnection } from './connection.ts'

const FOREVER = new AbortController().signal
const EVENTS = { onListChanged() {}, onResourceUpdated() {}, onLog() {}, onCrowded() {} }
const MET = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } }

/** A server that says who it is, and nothing more. */
const mute: OpenChannel = async events => ({
  async send(message) {
    if (!isRequest(message) || message.method !== 'initialize') return
    events.onMessage({ jsonrpc: '2.0', id: message.id, result: MET })
  },
  close: async () => events.onEnd({ kind: 'closed', reason: 'The connection was closed.' }),
  pids: () => [],
  hasExchanges: false,
})

/** A call that such a server never answers. */
async function waitingCall() {
  const clock = createFakeClock()
  const client = { name: 'test', version: '1' }
  const connection = createConnection({
    clock,
    random: () => 1,
    dependency: 'upstream-s',
    idleMs: undefined,
    startMs: 5_000,
    callMs: () => 20_000,
    isKept: true,
    open: signal => openSession({ open: mute, era: 'legacy', client, clock, events: EVENTS }, signal),
    fingerprint: async () => '',
    isWatched: () => false,
    onChange() {},
    note() {},
  })
  const session = await connection.take({ budgetMs: 1_000, signal: FOREVER })
  const canAnswer = { form: false, url: false, model: false, roots: false }
  const behind = { caller: 'worker', canAnswer, ask: async () => ({ action: 'decline' as const }), log() {} }
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
  await expect(call).rejects.toMatchObject({ wasSent: 'maybe', message: 'It is started anew.' })
})

it('tells the calls that the end of everything has ended why', async () => {
  const { connection, call } = await waitingCall()
  await connection.stop()
  await expect(call).rejects.toMatchObject({ wasSent: 'maybe', message: 'Quartermaster is stopping.' })
})
