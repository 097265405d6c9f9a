import { describe, expect, it } from 'vitest'
import { httpEndpoint } from '../testing/http-endpoint.ts'
import { call, httpFixture, PING } from '../testing/http-fixture.ts'
import type { HttpAuth } from './http-sender.ts'

describe('a server by HTTP that wants to know who we are', () => {
  const auth = (parts: Partial<HttpAuth>): HttpAuth => ({
    token: async () => 'old',
    renew: async () => 'signIn',
    async lacking() {},
    agent: () => undefined,
    ...parts,
  })

  it('gets a renewed token with the same request, once', async () => {
    let token = 'old'
    const server = await httpEndpoint(visit =>
      visit.headers.authorization === 'Bearer new' ? visit.result({}) : visit.json(401),
    )
    const renew = async () => ((token = 'new'), 'renewed' as const)
    const { channel, messages } = await httpFixture(server.url, { auth: auth({ token: async () => token, renew }) })
    await channel.send(call(1))
    expect(messages).toHaveLength(1)
    expect(server.visits).toHaveLength(2)
  })
  it.each([
    ['an "Authorization"', { Authorization: 'Bearer wrong' }, '', 'headers.Authorization'],
    ['a key in another header', { 'X-Team': 'red', 'X-Api-Key': 'wrong' }, '', 'headers.X-Api-Key'],
    ['a name and a password', {}, 'ann:wrong@', 'url'],
  ])('sends nobody to sign in who has configured %s that it does not take', async (_, headers, user, setting) => {
    const server = await httpEndpoint(visit => visit.json(401))
    const url = server.url.replace('//', `//${user}`)
    const desk = await httpFixture(url, { headers, auth: auth({ token: async () => undefined }) })
    await desk.channel.send(PING).catch(() => {})
    expect(await desk.ended).toEqual({
      kind: 'unauthorized',
      reason: `"files" does not take the key that it is sent. Change "${setting}" in its entry, or the secret named there.`,
    })
  })
  it('is told what it lacks by the challenge, word for word', async () => {
    const header = 'Bearer error="invalid_token", scope="a b", resource_metadata="https://x.example/meta"'
    const server = await httpEndpoint(visit => visit.json(401, undefined, { 'www-authenticate': header }))
    const seen: unknown[] = []
    const renew: HttpAuth['renew'] = async (refused, challenge) => (seen.push(refused, challenge), 'signIn')
    const { channel } = await httpFixture(server.url, { auth: auth({ renew }) })
    await channel.send(call(1)).catch(() => {})
    expect(seen).toEqual(['old', { error: 'invalid_token', scope: 'a b', resourceMetadata: 'https://x.example/meta' }])
  })

  it('stays usable when one request wants more rights than there are', async () => {
    const lacking: unknown[] = []
    const server = await httpEndpoint(visit =>
      visit.body.id === 1
        ? visit.json(403, undefined, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="write"' })
        : visit.result({}),
    )
    const desk = await httpFixture(server.url, {
      auth: auth({ lacking: async challenge => void lacking.push(challenge) }),
    })
    await expect(desk.channel.send(call(1))).rejects.toMatchObject({ wasSent: 'refused', status: 403 })
    expect(lacking).toMatchObject([{ scope: 'write' }])
    await desk.channel.send(call(2))
    expect(desk.messages).toHaveLength(1)
  })
})
