import { expect, it } from 'vitest'
import type { CancelSignal } from '../../../core/kernel/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Message, Params } from '../../mcp-wire/index.ts'
import { type Channel, RpcError, refusedAnswer, SendFailure, UnreadableAnswer } from './channel.ts'
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

it('gives every request its own answer, in whatever order they come', async () => {
  const { peer } = open()
  const first = peer.request('a', {}, patient())
  const second = peer.request('b', {}, patient())
  peer.receive({ jsonrpc: '2.0', id: 2, result: { is: 'b' } })
  peer.receive({ jsonrpc: '2.0', id: 1, result: { is: 'a' } })
  expect(await first).toEqual({ is: 'a' })
  expect(await second).toEqual({ is: 'b' })
})

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

it('says of what never went out that nobody has seen it, whatever ended the connection', async () => {
  const { peer, channel } = open()
  channel.withdraw = id => id === 2
  const asked = [1, 2].map(() => peer.request('tools/call', {}, patient()).catch(error => error))
  peer.end({ kind: 'hung', reason: 'It does not answer any more.' })
  expect(await Promise.all(asked)).toMatchObject([{ wasSent: 'maybe' }, { wasSent: 'no' }])
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

it('tells the server to give up a request that nobody waits for any more', async () => {
  const { peer, sent } = open()
  const controller = new AbortController()
  const given = peer.request('tools/call', {}, { signal: controller.signal })
  controller.abort(new Error('enough'))
  await expect(given).rejects.toThrow('enough')
  expect(sent[1]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 1 } })
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

it('passes progress to the request it belongs to, and to no other', async () => {
  const { peer, sent } = open()
  const heard: unknown[] = []
  void peer.request(
    'a',
    { x: 1 },
    { ...patient(), meta: { progressToken: 'theirs' }, onProgress: told => heard.push(told) },
  )
  void peer.request('b', {}, patient())
  expect(sent[0]).toMatchObject({ params: { x: 1, _meta: { progressToken: 1 } } })
  expect(sent[1]).not.toHaveProperty('params._meta')
  for (const progressToken of [1, 2, 'x'])
    peer.receive({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } })
  expect(heard).toEqual([{ progress: 1, total: 2 }])
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

it('believes the channel about what was never sent', async () => {
  const { peer, channel } = open()
  channel.send = async () => {
    throw new SendFailure('The pipe is closed.', { wasSent: 'no' })
  }
  await expect(peer.request('a', {}, patient())).rejects.toMatchObject({ wasSent: 'no' })
})

it('takes an error of any shape for a refusal', async () => {
  const { peer } = open()
  const asked = peer.request('a', {}, patient())
  peer.receive({ jsonrpc: '2.0', id: 1, error: 'broken' as never })
  await expect(asked).rejects.toThrow('It gave no reason.')
  await expect(asked).rejects.toBeInstanceOf(RpcError)
  await expect(asked).rejects.not.toBeInstanceOf(UnreadableAnswer)
})

it.each([
  ['a result that is none', { jsonrpc: '2.0', id: 1, result: 5 } as const, 'no result'],
  ['no result and no error', { jsonrpc: '2.0', id: 1, error: null as never } as const, 'no result'],
  ['what is not taken', refusedAnswer(1, 'It is too long.'), 'It is too long.'],
])('takes %s for an answer that nobody can read', async (_, answer, text) => {
  const { peer } = open()
  const asked = peer.request('a', {}, patient())
  peer.receive(answer)
  await expect(asked).rejects.toThrow(text)
  await expect(asked).rejects.toBeInstanceOf(UnreadableAnswer)
})

it('answers what the server asks, and drops what the server takes back', async () => {
  let given: AbortSignal | undefined
  const { peer, sent } = open({
    serve(method, _params, { signal }) {
      if (method === 'quick') return Promise.resolve({ done: true })
      given = signal
      return new Promise(() => {})
    },
  })
  peer.receive({ jsonrpc: '2.0', id: 'q', method: 'quick' })
  await expect.poll(() => sent).toEqual([{ jsonrpc: '2.0', id: 'q', result: { done: true } }])
  peer.receive({ jsonrpc: '2.0', id: 's', method: 'slow' })
  peer.receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 's' } })
  expect(given?.aborted).toBe(true)
})

it('does not say that an answer was delivered that the end of the channel has held up', async () => {
  const answer = deferred<Params>()
  let delivered: Promise<unknown> = Promise.resolve()
  const { peer, sent } = open({
    serve(_method, _params, { delivery }) {
      delivered = delivery
      return answer.promise
    },
  })
  peer.receive({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create' })
  peer.end({ kind: 'sessionLost', reason: 'It has forgotten us.' })
  answer.resolve({ action: 'accept' })
  await expect(delivered).rejects.toMatchObject({ wasSent: 'no', message: 'It has forgotten us.' })
  expect(sent).toEqual([])
})

it('takes an answer for delivered that the server does not want any more', async () => {
  let delivered: Promise<unknown> = Promise.resolve()
  const { peer, sent } = open({
    async serve(_method, _params, { signal, delivery }) {
      delivered = delivery
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      return {}
    },
  })
  peer.receive({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create' })
  peer.receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'q' } })
  await delivered
  expect(sent).toEqual([])
})

it('takes what a server asks without parameters for what it is, also when nobody can be asked any more', async () => {
  const asked: Params[] = []
  const { peer } = open({ serve: async (_method, params) => (asked.push(params), {}) })
  const question = { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: null as never } as const
  peer.receive(question)
  await expect.poll(() => asked).toEqual([{}])
  const call = peer.request('tools/call', {}, { ...patient(), caller: 'ada' })
  peer.end({ kind: 'sessionLost', reason: 'It has forgotten us.' })
  peer.receive(question)
  await expect(call).rejects.toMatchObject({ isFinal: true })
})

it('lets a server ask only so much at a time', async () => {
  const { peer, sent } = open({ serve: () => new Promise(() => {}) })
  for (let id = 0; id < 20; id++) peer.receive({ jsonrpc: '2.0', id, method: 'elicitation/create' })
  await expect.poll(() => sent.length).toBe(4)
  expect(sent.every(message => 'error' in message)).toBe(true)
})
