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
  it('is cut where it says more than anybody reads, and tells how much is missing', async () => {
    const { messages } = await answerTo(failure({ code: -32_000, message: 'y '.repeat(1_000_000) }))
    const message = `${'y '.repeat(4_096)}… (1991808 more characters are left out)`
    expect(messages).toEqual([failure({ code: -32_000, message })])
  })
  it('shows no secret by which something in it is called, and loses nothing of what is called alike then', async () => {
    const data = { [KEY]: 1, '[secret]': 2, deep: [{ [`${KEY}/${KEY}`]: 3 }], [KEY.replace('-', '\\u002d')]: 4 }
    const { messages } = await answerTo(failure({ code: -32_000, message: 'No.', data }))
    const shown = { '[secret]': 1, '[secret] 2': 2, deep: [{ '[secret]/[secret]': 3 }], '[secret] 3': 4 }
    expect(messages).toEqual([failure({ code: -32_000, message: 'No.', data: shown })])
  })
})

describe('what a server tells', () => {
  const result = { jsonrpc: '2.0', id: 1, result: { text: 'y'.repeat(2_000_000) } }
  it('is dropped with no part of a secret in what is said of it', async () => {
    const { lines } = await answerTo([{ jsonrpc: '2.0', method: `${'x'.repeat(60)}${KEY.repeat(100_000)}` }, result])
    expect(lines()).toEqual([
      expect.stringMatching(/^A message "x{60}\[secret\]\[secret\].{0,3}…" of it is not taken: /),
    ])
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
  const LARGE = 'y'.repeat(1_100_000)
  const SHUT = new SendFailure('The server has forgotten the session.', { wasSent: 'no', status: 404 })

  it('ends the call in whose exchange it came, where the server does not let the refusal in', async () => {
    const { sent, lost } = await sayingIn({ of: 7, failure: SHUT }, asked('q', 'elicitation/create', LARGE))
    const reason =
      'It asked something that is not taken, and could not be told so: The server has forgotten the session.'
    expect(lost).toEqual([[7, reason]])
    expect(sent).toMatchObject([{ id: 'q' }, { method: 'notifications/cancelled', params: { requestId: 7 } }])
  })
})
