import { describe, expect, it, onTestFinished } from 'vitest'
import { HttpUpstream } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { type Id, isResponse, type Message } from '../../mcp-wire/index.ts'
import { type TargetDeps, targetOf } from '../connection/target.ts'
import { type Channel, type ChannelEvents, SendFailure } from '../peer/channel.ts'
import { httpEndpoint } from '../testing/http-endpoint.ts'
import { call } from '../testing/http-fixture.ts'
import { authFixture } from '../testing/oauth-fixture.ts'
import { boundedChannel } from './channel-filters.ts'
import { createChildLog } from './child-log.ts'

const KEY = 'key-of-the-house'

/** A server of an entry with a key, and what of its answer to one call comes through. */
async function answerTo(answer: object | readonly object[], key = KEY) {
  const endpoint = await httpEndpoint(visit => visit.json(200, answer))
  const { auth, clock } = authFixture()
  const config = HttpUpstream.parse({ url: `${endpoint.origin}/mcp`, headers: { 'x-key': key } })
  const log = createChildLog({ clock, secrets: [key] })
  const target = targetOf({
    name: 'toy',
    config,
    projectDir: '.',
    dataDir: '.',
    clock,
    auth,
    log,
  } as unknown as TargetDeps)
  const messages: Message[] = []
  const events = { onMessage: (message: Message) => void messages.push(message), onEnd() {} }
  const channel = await target.open(undefined)(events, new AbortController().signal)
  onTestFinished(() => channel.close())
  await channel.send(call(1))
  return { messages, lines: () => log.lines({ limit: 10 }).map(({ text }) => text) }
}

const failure = (error: unknown) => ({ jsonrpc: '2.0', id: 1, error })

describe('an error of a server', () => {
  it.each([
    ['with data', { code: -32_000, message: 'No.', data: { why: ['x'.repeat(60_000)], more: null } }],
    ['of many words', { code: -32_000, message: 'y '.repeat(4_096) }],
    ['of an odd shape', { message: 7, reason: 'None.' }],
  ])('comes as it is %s', async (_how, error) => {
    const { messages } = await answerTo(failure(error))
    expect(messages).toEqual([failure(error)])
  })

  it('is cut where it says more than anybody reads, and tells how much is missing', async () => {
    const { messages } = await answerTo(failure({ code: -32_000, message: 'y '.repeat(1_000_000) }))
    const message = `${'y '.repeat(4_096)}… (1991808 more characters are left out)`
    expect(messages).toEqual([failure({ code: -32_000, message })])
  })

  it('comes without its data where that is large', async () => {
    const { messages } = await answerTo(failure({ code: -32_000, message: 'No.', data: { t: 'y'.repeat(1_000_000) } }))
    const message = 'No. (its data is left out: it has more than 65536 characters)'
    expect(messages).toEqual([failure({ code: -32_000, message })])
  })

  it('keeps small data where it is its message that is long', async () => {
    const { messages } = await answerTo(failure({ code: -32_000, message: 'y'.repeat(9_000), data: { hint: KEY } }))
    const message = `${'y'.repeat(8_192)}… (808 more characters are left out)`
    expect(messages).toEqual([failure({ code: -32_000, message, data: { hint: '[secret]' } })])
  })

  it.each([
    ['no object', 'y'.repeat(1_000_000), 'It gave no reason.'],
    ['full of something else', { stack: 'y'.repeat(1_000_000) }, 'It gave no reason.'],
  ])('is none but for its code where it is %s', async (_what, error, message) => {
    const { messages } = await answerTo(failure(error))
    expect(messages).toEqual([failure({ code: -32_603, message })])
  })

  it('shows no secret by which something in it is called, and loses nothing of what is called alike then', async () => {
    const data = { [KEY]: 1, '[secret]': 2, deep: [{ [`${KEY}/${KEY}`]: 3 }], [KEY.replace('-', '\\u002d')]: 4 }
    const { messages } = await answerTo(failure({ code: -32_000, message: 'No.', data }))
    const shown = { '[secret]': 1, '[secret] 2': 2, deep: [{ '[secret]/[secret]': 3 }], '[secret] 3': 4 }
    expect(messages).toEqual([failure({ code: -32_000, message: 'No.', data: shown })])
  })

  it('keeps its code where a secret has the same digits, which are hidden everywhere else', async () => {
    const error = { code: -32_000, message: 'Port 32000 is taken.', data: { port: 32_000 } }
    const { messages } = await answerTo(failure(error), '32000')
    expect(messages).toEqual([
      failure({ code: -32_000, message: 'Port [secret] is taken.', data: { port: '[secret]' } }),
    ])
  })

  it('shows no beginning of a secret where it is cut', async () => {
    for (const before of [8_180, 16_376]) {
      const said = `${KEY.repeat(40)}${'y'.repeat(before - 40 * KEY.length)}${KEY}${'z'.repeat(20_000)}`
      const { messages } = await answerTo(failure({ code: -32_000, message: said }))
      expect(JSON.stringify(messages)).not.toContain(KEY.slice(0, 4))
    }
  })
})

describe('what a server tells', () => {
  const told = (method: string, data: unknown) => ({ jsonrpc: '2.0', method, params: { data } })
  const result = { jsonrpc: '2.0', id: 1, result: { text: 'y'.repeat(2_000_000) } }

  it('is dropped where it is large, which is said once', async () => {
    const long = 'y'.repeat(1_100_000)
    const { messages, lines } = await answerTo([
      told('notifications/message', { long }),
      told('notifications/message', { long }),
      told('notifications/message', 'short'),
      result,
    ])
    expect(messages).toEqual([told('notifications/message', 'short'), result])
    expect(lines()).toEqual([
      'A message "notifications/message" of it is not taken: it has more than 1048576 characters. It is not said again of others.',
    ])
  })

  it('is dropped with no part of a secret in what is said of it', async () => {
    const { lines } = await answerTo([{ jsonrpc: '2.0', method: `${'x'.repeat(60)}${KEY.repeat(100_000)}` }, result])
    expect(lines()).toEqual([
      expect.stringMatching(/^A message "x{60}\[secret\]\[secret\].{0,3}…" of it is not taken: /),
    ])
  })

  it('is dropped where it is made of too many pieces', async () => {
    const { messages, lines } = await answerTo([told('notifications/strange', Array(60_000).fill(0)), result])
    expect(messages).toEqual([result])
    expect(lines()).toEqual([expect.stringContaining('it has more than 50000 values')])
  })
})

describe('what a server asks', () => {
  /** A server that says this, and what it hears of it. */
  async function saying(...said: readonly Message[]) {
    return sayingIn({}, ...said)
  }

  /** The same in the exchange of a request, to whose server an answer may not come through. */
  async function sayingIn({ of, failure }: { of?: Id; failure?: Error }, ...said: readonly Message[]) {
    const sent: Message[] = []
    const lost: unknown[] = []
    const passed: Message[] = []
    const log = createChildLog({ clock: createFakeClock() })
    let parts = 0
    const heard: { by?: ChannelEvents } = {}
    const channel: Channel = {
      async send(message) {
        sent.push(message)
        if (failure && isResponse(message)) throw failure
      },
      close: async () => {},
      pids: () => [],
      hasExchanges: false,
    }
    const open = boundedChannel(async by => {
      heard.by = by
      return channel
    }, log)
    const events = {
      onMessage: (message: Message) => void passed.push(message),
      onPart: () => void parts++,
      onLost: (...one: unknown[]) => void lost.push(one),
      onEnd() {},
    }
    await open(events, new AbortController().signal)
    for (const message of said) heard.by?.onMessage(message, of)
    await new Promise(resolve => setImmediate(resolve))
    return { sent, passed, lines: log.lines({ limit: 10 }).map(({ text }) => text), parts, lost }
  }

  const asked = (id: string, method: string, text: string): Message => ({
    jsonrpc: '2.0',
    id,
    method,
    params: { text },
  })

  it('is refused where it is large, and it is told so', async () => {
    const { sent, passed, lines, parts } = await saying(asked('q', 'elicitation/create', 'y'.repeat(1_100_000)))
    const message = 'This is not taken: it has more than 1048576 characters.'
    expect(sent).toEqual([{ jsonrpc: '2.0', id: 'q', error: { code: -32_602, message } }])
    expect(passed).toEqual([])
    expect(lines).toEqual([expect.stringContaining('"elicitation/create" of it is not taken')])
    expect(parts).toBe(1)
  })

  it('may have a picture in it where it is for a model', async () => {
    const question = asked('q', 'sampling/createMessage', 'y'.repeat(4_000_000))
    const large = asked('r', 'sampling/createMessage', 'y'.repeat(9_000_000))
    const { sent, passed } = await saying(question, large)
    expect(passed).toEqual([question])
    expect(sent).toMatchObject([{ id: 'r', error: { code: -32_602 } }])
  })

  const LARGE = 'y'.repeat(1_100_000)
  const SHUT = new SendFailure('The server has forgotten the session.', { wasSent: 'no', status: 404 })

  it('ends the call in whose exchange it came, where the server does not let the refusal in', async () => {
    const { sent, lost } = await sayingIn({ of: 7, failure: SHUT }, asked('q', 'elicitation/create', LARGE))
    const reason =
      'It asked something that is not taken, and could not be told so: The server has forgotten the session.'
    expect(lost).toEqual([[7, reason]])
    expect(sent).toMatchObject([{ id: 'q' }, { method: 'notifications/cancelled', params: { requestId: 7 } }])
  })

  it.each([
    ['nobody knows in which exchange it came', 'elicitation/create', { failure: SHUT }],
    ['it was asked in passing', 'roots/list', { of: 7, failure: SHUT }],
    [
      'the refusal may have come through',
      'elicitation/create',
      { of: 7, failure: new SendFailure('It broke.', { wasSent: 'maybe' }) },
    ],
    ['the server has been told', 'elicitation/create', { of: 7 }],
  ])('ends no call where %s', async (_, method, way) => {
    const { sent, lost } = await sayingIn(way, asked('q', method, LARGE))
    expect([sent.length, lost]).toEqual([1, []])
  })

  it('is dropped where even its id is large', async () => {
    expect((await saying(asked('i'.repeat(2_000_000), 'ping', ''))).sent).toEqual([])
  })
})
