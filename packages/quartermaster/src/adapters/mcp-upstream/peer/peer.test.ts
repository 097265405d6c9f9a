import { expect, it } from 'vitest'
import type { CancelSignal } from '../../../core/kernel/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Message } from '../../mcp-wire/index.ts'
import { type Channel, refusedAnswer, UnreadableAnswer } from './channel.ts'
import { createPeer, createRequestIds, type PeerOptions, type ServeRequest } from './peer.ts'

/** A peer, and the other end of its channel in the test's hands. */
function open({
  serve = async () => ({}),
  hasExchanges = false,
}: {
  serve?: ServeRequest
  hasExchanges?: boolean
} = {}) {
  const sent: Message[] = []
  const signals: (CancelSignal | undefined)[] = []
  const told: [string, object][] = []
  const channel: Channel = {
    async send(message, options) {
      sent.push(message)
      signals.push(options?.signal)
    },
    close: async () => {},
    pids: () => [],
    hasExchanges,
  }
  const options: PeerOptions = {
    clock: createFakeClock(),
    serve,
    onNotification: (method, params) => told.push([method, params]),
    cancelBy: () => (hasExchanges ? 'exchange' : 'notification'),
  }
  const peer = createPeer(() => channel, options, createRequestIds())
  return { peer, sent, signals, told, channel }
}

const patient = () => ({ signal: new AbortController().signal })
it('lets late, double and unknown answers go nowhere', async () => {
  const { peer } = open()
  const controller = new AbortController()
  const given = peer.request('a', {}, { signal: controller.signal })
  controller.abort(new Error('enough'))
  await expect(given).rejects.toThrow('enough')
  const next = peer.request('b', {}, patient())
  for (const id of [1, 77, 'two', null]) peer.receive({ jsonrpc: '2.0', id, result: { is: 'wrong' } })
  peer.receive({ jsonrpc: '2.0', id: 2, result: { is: 'right' } })
  peer.receive({ jsonrpc: '2.0', id: 2, result: { is: 'double' } })
  expect(await next).toEqual({ is: 'right' })
})

it('takes back what is given up before it went out, and has nobody told or waited for', async () => {
  const { peer, sent, channel } = open()
  channel.withdraw = id => id === 1
  const controller = new AbortController()
  let late = 0
  const given = peer.request('a', {}, { signal: controller.signal, onLate: () => void late++ })
  controller.abort(new Error('enough'))
  await expect(given).rejects.toThrow('enough')
  expect(sent).toMatchObject([{ method: 'a' }])
  // The server is done with it, for it never had it.
  expect(late).toBe(1)
})
it('tells once whoever gave up a request that its answer has come after all', async () => {
  const { peer } = open()
  const controller = new AbortController()
  let late = 0
  const given = peer.request('a', {}, { signal: controller.signal, onLate: () => void late++ })
  controller.abort(new Error('enough'))
  await expect(given).rejects.toThrow('enough')
  expect(late).toBe(0)
  for (const _ of ['late', 'double']) peer.receive({ jsonrpc: '2.0', id: 1, result: {} })
  expect(late).toBe(1)
})
it('gives up a request by ending its exchange, where each has one', async () => {
  const { peer, sent, signals } = open({ hasExchanges: true })
  const controller = new AbortController()
  const given = peer.request('tools/call', {}, { signal: controller.signal })
  controller.abort(new Error('enough'))
  await expect(given).rejects.toThrow('enough')
  expect(sent).toHaveLength(1)
  expect(signals[0]?.aborted).toBe(true)
})
it('says of what was under way that it may have been seen, and of what comes after that it was not', async () => {
  const { peer } = open()
  const under = peer.request('a', {}, patient())
  peer.end({ kind: 'exited', reason: 'It exited.' })
  await expect(under).rejects.toMatchObject({ wasSent: 'maybe' })
  await expect(peer.request('b', {}, patient())).rejects.toMatchObject({ wasSent: 'no' })
})

it('waits on for what a server was given that nobody gets through to any more, but for what the next one is asked', async () => {
  const { peer } = open({ hasExchanges: true })
  const write = peer.request('write', {}, patient())
  const list = peer.request('list', {}, { ...patient(), isForNext: true })
  peer.end({ kind: 'unreachable', reason: 'Nothing listens there.' })
  await expect(list).rejects.toMatchObject({ wasSent: 'maybe' })
  await expect(peer.request('later', {}, patient())).rejects.toMatchObject({ wasSent: 'no' })
  peer.receive({ jsonrpc: '2.0', id: 1, result: { is: 'written' } })
  expect(await write).toEqual({ is: 'written' })
})
it.each([
  ['a result that is none', { jsonrpc: '2.0', id: 1, result: 5 } as const, 'no result'],
  ['what is not taken', refusedAnswer(1, 'It is too long.'), 'It is too long.'],
])('takes %s for an answer that nobody can read', async (_, answer, text) => {
  const { peer } = open()
  const asked = peer.request('a', {}, patient())
  peer.receive(answer)
  await expect(asked).rejects.toThrow(text)
  await expect(asked).rejects.toBeInstanceOf(UnreadableAnswer)
})
