import { describe, expect, it, onTestFinished } from 'vitest'
import type { HttpUpstream } from '../../../contracts/index.ts'
import type { Message } from '../../mcp-wire/index.ts'
import { type TargetDeps, targetOf } from '../connection/target.ts'
import { type ChannelEnd } from '../peer/channel.ts'
import { call } from '../testing/http-fixture.ts'
import { authFixture, type OAuthQuirks, OWNER, oauthPlace } from '../testing/oauth-fixture.ts'
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
  it('stays in what a tool answers, which passes as it is', async () => {
    const { channel, messages } = await signedIn(({ result, headers }) => result({ echo: headers.authorization }))
    await channel.send(call(1))
    expect(messages).toMatchObject([{ result: { echo: 'Bearer access-1' } }])
  })
})
