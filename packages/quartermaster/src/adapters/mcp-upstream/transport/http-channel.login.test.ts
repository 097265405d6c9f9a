import { describe, expect, it } from 'vitest'
import { httpEndpoint } from '../testing/http-endpoint.ts'
import { call, httpFixture, PING } from '../testing/http-fixture.ts'
import { type HttpAuth, LoginOver } from './http-auth.ts'

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

  it('ends the channel when only a person can help, or a new token is refused as well', async () => {
    const server = await httpEndpoint(visit => visit.json(401))
    for (const renew of [async () => 'signIn' as const, async () => 'renewed' as const]) {
      const desk = await httpFixture(server.url, { auth: auth({ renew }) })
      await expect(desk.channel.send(PING)).rejects.toMatchObject({ wasSent: 'turnedAway', status: 401 })
      expect(await desk.ended).toMatchObject({
        kind: 'unauthorized',
        reason: expect.stringContaining('quartermaster login files'),
      })
    }
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

  it('sends whoever has a key to sign in where the server says that it is to be done', async () => {
    const challenge = { 'www-authenticate': 'Bearer resource_metadata="https://x.example/meta"' }
    const server = await httpEndpoint(visit => visit.json(401, undefined, challenge))
    const options = { headers: { 'X-Api-Key': 'wrong' }, auth: auth({ token: async () => undefined }) }
    const desk = await httpFixture(server.url, options)
    await desk.channel.send(PING).catch(() => {})
    expect(await desk.ended).toMatchObject({ reason: expect.stringContaining('quartermaster login files') })
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

  it.each([
    [401, 'Bearer'],
    [403, 'Bearer error="insufficient_scope", scope="write"'],
  ])('sends whoever has a login of its own to that one, and others to the one of all: %s', async (status, header) => {
    const server = await httpEndpoint(visit => visit.json(status, undefined, { 'www-authenticate': header }))
    for (const [agent, step] of [
      ['bob', 'Sign in: quartermaster login files --agent bob'],
      [undefined, 'Sign in: quartermaster login files'],
    ] as const) {
      const { channel } = await httpFixture(server.url, { auth: auth({ agent: () => agent }) })
      const message = expect.stringMatching(new RegExp(`${step}$`))
      await expect(channel.send(call(1))).rejects.toMatchObject({ status, message })
    }
  })

  it('says what it lacks though that could not be noted', async () => {
    const challenge = { 'www-authenticate': 'Bearer error="insufficient_scope", scope="write"' }
    const server = await httpEndpoint(visit => visit.json(403, undefined, challenge))
    const lacking = () => Promise.reject(new Error('The disk is full.'))
    const { channel } = await httpFixture(server.url, { auth: auth({ lacking }) })
    const message = expect.stringContaining('wants more rights')
    await expect(channel.send(call(1))).rejects.toMatchObject({ status: 403, message })
  })

  it('is sent nothing more once the login is over that the channel was opened with, and may answer what it has let in', async () => {
    let token: HttpAuth['token'] = () => 'old'
    const server = await httpEndpoint(visit => (visit.body.id === 1 ? undefined : visit.result({})))
    const desk = await httpFixture(server.url, { auth: auth({ token: () => token() }) })
    const sent = desk.channel.send(call(1))
    await server.arrived(1)
    token = () => Promise.reject(new LoginOver('Somebody has signed out.'))
    const failure = { wasSent: 'turnedAway', status: 401, message: 'Somebody has signed out.' }
    await expect(desk.channel.send(call(2))).rejects.toMatchObject(failure)
    await expect(desk.channel.send(PING)).rejects.toMatchObject(failure)
    expect(await desk.ended).toEqual({ kind: 'unauthorized', reason: 'Somebody has signed out.' })
    server.visits[0]?.result({})
    await sent
    expect(desk.messages).toMatchObject([{ id: 1 }])
    expect(server.visits).toHaveLength(1)
  })

  it('is told that a login is not taken any more in whose place there is another', async () => {
    const server = await httpEndpoint(visit => visit.json(401))
    const renew = () => Promise.reject(new LoginOver('A newer login has replaced it.'))
    const desk = await httpFixture(server.url, { auth: auth({ renew }) })
    const failure = { wasSent: 'turnedAway', status: 401, message: 'A newer login has replaced it.' }
    await expect(desk.channel.send(call(1))).rejects.toMatchObject(failure)
    expect(server.visits).toHaveLength(1)
  })

  it('is not given up for an issuer that cannot be asked', async () => {
    const server = await httpEndpoint(visit => visit.json(401))
    const renew = () => Promise.reject(new Error('The issuer is away.'))
    const desk = await httpFixture(server.url, { auth: auth({ renew }) })
    await expect(desk.channel.send(call(1))).rejects.toMatchObject({ wasSent: 'no', message: 'The issuer is away.' })
  })
})
