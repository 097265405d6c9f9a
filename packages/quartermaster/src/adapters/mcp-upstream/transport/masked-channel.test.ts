import { describe, expect, it, onTestFinished } from 'vitest'
import { HttpUpstream } from '../../../contracts/index.ts'
import { createSecretRedactor } from '../../../core/secrets/index.ts'
import type { Message } from '../../mcp-wire/index.ts'
import { type TargetDeps, targetOf } from '../connection/target.ts'
import { type ChannelEnd, SendFailure } from '../peer/channel.ts'
import { httpEndpoint } from '../testing/http-endpoint.ts'
import { call } from '../testing/http-fixture.ts'
import { authFixture, type OAuthQuirks, OWNER, oauthPlace } from '../testing/oauth-fixture.ts'
import { maskedChannel } from './channel-filters.ts'
import { createChildLog } from './child-log.ts'

/** A server at which somebody has signed in, reached as its entry says. */
async function signedIn(serve: NonNullable<OAuthQuirks['serve']>) {
  const place = await oauthPlace({ serve })
  const desk = authFixture()
  const attempt = await desk.auth.begin(OWNER, place.upstream)
  await attempt.take(place.approve(attempt.url))
  const reached = await reach(place.upstream, desk)
  return { place, ...desk, ...reached }
}

type Around = Pick<ReturnType<typeof authFixture>, 'auth' | 'clock'> & { readonly secrets?: readonly string[] }

async function reach(config: HttpUpstream, { auth, clock, secrets = [] }: Around) {
  const log = createChildLog({ clock, secrets })
  const deps = { name: OWNER.upstream, config, projectDir: '.', dataDir: '.', clock, auth, log }
  const messages: Message[] = []
  const ends: ChannelEnd[] = []
  const events = {
    onMessage: (message: Message) => void messages.push(message),
    onEnd: (end: ChannelEnd) => void ends.push(end),
  }
  const target = targetOf(deps as unknown as TargetDeps)
  const channel = await target.open(undefined)(events, new AbortController().signal)
  onTestFinished(() => channel.close())
  return { channel, messages, ends, log }
}

describe('a token that a server repeats', () => {
  it('is hidden in its errors, whatever they are made of', async () => {
    const { channel, messages } = await signedIn(({ json, body, headers }) =>
      json(200, {
        jsonrpc: '2.0',
        id: (body as { id: number }).id,
        error: {
          code: -32_000,
          message: `No entry for ${headers.authorization}`,
          data: { seen: [headers.authorization] },
        },
      }),
    )
    await channel.send(call(1))
    expect(messages).toEqual([
      {
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32_000, message: 'No entry for Bearer [secret]', data: { seen: ['Bearer [secret]'] } },
      },
    ])
  })

  it('is hidden in the lines of its log', async () => {
    const { channel, messages } = await signedIn(({ json, headers }) =>
      json(200, {
        jsonrpc: '2.0',
        method: 'notifications/message',
        params: { data: { header: headers.authorization } },
      }),
    )
    await channel.send(call(1)).catch(() => {})
    expect(messages).toMatchObject([{ params: { data: { header: 'Bearer [secret]' } } }])
  })

  it('is hidden in why an answer cannot be taken', async () => {
    const { channel } = await signedIn(({ response, headers }) =>
      response.writeHead(200, { 'content-type': `text/${headers.authorization?.slice('Bearer '.length)}` }).end('?'),
    )
    await expect(channel.send(call(1))).rejects.toMatchObject({ name: 'SendFailure', said: 'text/[secret]' })
  })

  it('is hidden in what is said about it, before and after it was renewed', async () => {
    const { channel, clock, log } = await signedIn(({ result }) => result({ ok: true }))
    await channel.send(call(1))
    await clock.advance(3_575_000)
    await channel.send(call(2))
    expect(log.redact('access-1 refresh-1 access-2 refresh-2')).toBe('[secret] [secret] [secret] [secret]')
    log.add('stderr', 'authorization: Bearer access-2')
    expect(log.lines({ limit: 1 })).toMatchObject([{ text: 'authorization: Bearer [secret]' }])
  })

  it('stays in what a tool answers, which passes as it is', async () => {
    const { channel, messages } = await signedIn(({ result, headers }) => result({ echo: headers.authorization }))
    await channel.send(call(1))
    expect(messages).toMatchObject([{ result: { echo: 'Bearer access-1' } }])
  })
})

it.each([0, 280])(
  'hides a key where what a server calls its answer is shortened, behind %i characters',
  async length => {
    const key = 'Sk-live-4f9A7c2E8b1D6e3F0a5C9d2B7e4A1f8C3d6E'
    const type = `text/${'x'.repeat(length)}`
    const endpoint = await httpEndpoint(({ response, headers }) =>
      response.writeHead(200, { 'content-type': `${type}${headers['x-key']}` }).end('?'),
    )
    const config = HttpUpstream.parse({ url: endpoint.url, headers: { 'x-key': key } })
    const { channel } = await reach(config, { ...authFixture(), secrets: [key] })
    await expect(channel.send(call(1))).rejects.toMatchObject({ said: `${type}[secret]` })
  },
)

it('says in other words that something did not get through, and nothing else than that', async () => {
  const cause = new Error('It was reset.')
  const facts = { wasSent: 'maybe', status: 503, retryAfterMs: 2_000, isFinal: true, cause } as const
  const failing = async () => {
    throw new SendFailure('No entry for hush.', { ...facts, said: 'Who is hush?' })
  }
  const open = async () => ({ send: failing, close: async () => {}, pids: () => [], hasExchanges: false })
  const masked = maskedChannel(open, createSecretRedactor(['hush']))
  const channel = await masked({ onMessage() {}, onEnd() {} }, new AbortController().signal)
  const failure = await channel.send(call(1)).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(SendFailure)
  expect(failure).toMatchObject({ ...facts, message: 'No entry for [secret].', said: 'Who is [secret]?' })
})
