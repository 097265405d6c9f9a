import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { HttpAnswer, HttpBody } from '../../http-client/index.ts'
import type { Id } from '../../mcp-wire/index.ts'
import { call } from '../testing/http-fixture.ts'
import { createExchanges, createHttpIncoming } from './http-incoming.ts'

/** A stream that fails in a way that nobody has thought of. */
const BROKEN: HttpAnswer = {
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  body: {
    read() {
      throw new TypeError('decoder.on is not a function')
    },
    pause() {},
    resume() {},
    destroy() {},
  } satisfies HttpBody,
}

function stage() {
  const exchanges = createExchanges()
  const lost: { id: Id; reason: string }[] = []
  const incoming = createHttpIncoming({
    clock: createFakeClock(),
    exchanges,
    messageBytes: 1_000,
    discard() {},
    hasSession: () => false,
    isEnded: () => false,
    listen: async () => BROKEN,
    onMessage() {},
    onForeign() {},
    onLost: (id, reason) => void lost.push({ id, reason }),
    onEnd() {},
    onMissed() {},
    onDoubt: async () => 'answered',
    isHeardAlways: () => false,
  })
  return { exchanges, incoming, lost }
}

it('loses a request whose stream cannot be followed, for whatever cause, and leaves nothing of it open', async () => {
  const { exchanges, incoming, lost } = stage()
  const exchange = exchanges.open(1)
  expect(await incoming.take(BROKEN, call(1), exchange)).toBe('followed')
  await expect.poll(() => lost).toEqual([{ id: 1, reason: 'The stream could not be followed.' }])
  expect(exchange.signal.aborted).toBe(true)
  expect(exchange.isAnswered()).toBe(true)
})

it('says so when what a server says beside its answers cannot be followed', async () => {
  const { exchanges, incoming } = stage()
  const events = { onStream() {}, onMissing() {} }
  expect(await incoming.listenAlways(exchanges.open(undefined), events)).toBe('The stream could not be followed.')
})
