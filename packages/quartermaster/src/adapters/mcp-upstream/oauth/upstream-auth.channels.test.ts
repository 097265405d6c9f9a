import { describe, expect, it } from 'vitest'
import { authFixture, OWNER, oauthPlace } from '../testing/oauth-fixture.ts'

const RESEARCHER = { ...OWNER, agent: 'researcher' }
const WRITE = { error: 'insufficient_scope', scope: 'write' }

/** A channel of somebody who has signed in, and of an agent if need be, with which something was sent already. */
async function opened(owner = OWNER) {
  const place = await oauthPlace()
  const desk = authFixture()
  const signIn = async (owner = OWNER) => {
    const attempt = await desk.auth.begin(owner, place.upstream)
    await attempt.take(place.approve(attempt.url))
  }
  await signIn()
  const open = (owner = OWNER) => desk.auth.for(owner, place.upstream)
  const channel = open(owner)
  expect(await channel.token()).toBe('access-1')
  const refreshed = () => place.tokenRequests.map(form => form.get('refresh_token')).filter(token => token !== null)
  return { ...desk, place, signIn, open, channel, refreshed }
}

const FORGOTTEN = 'The login at "tracker" was forgotten meanwhile, and nothing more is sent with it.'
const REPLACED = 'A newer login at "tracker" has replaced this one, which is no longer valid.'
const over = (message: string) => ({ name: 'LoginOver', message })

describe('a channel', () => {
  it('goes on with the login that it was opened with when somebody signs in anew, and those after it have the new one', async () => {
    const { channel, signIn, open } = await opened()
    await signIn()
    expect([await channel.token(), await open().token(), await channel.token()]).toEqual([
      'access-1',
      'access-2',
      'access-1',
    ])
  })

  it('uses a login that was replaced to its end, and never renews it', async () => {
    const { channel, clock, signIn, open, refreshed } = await opened()
    await signIn()
    await clock.advance(3_575_000)
    expect([await channel.token(), await open().token()]).toEqual(['access-1', 'access-3'])
    await clock.advance(60_000)
    // Whether it is still taken is the server's to say.
    expect(await channel.token()).toBe('access-1')
    await expect(channel.renew('access-1', {})).rejects.toMatchObject(over(REPLACED))
    expect(refreshed()).toEqual(['refresh-2'])
  })

  it('goes on likewise when its entry is pointed at another server and somebody signs in there, which forgets nothing', async () => {
    const { auth, channel, clock } = await opened()
    const elsewhere = await oauthPlace()
    const attempt = await auth.begin(OWNER, elsewhere.upstream)
    await attempt.take(elsewhere.approve(attempt.url))
    expect(await channel.token()).toBe('access-1')
    await clock.advance(3_635_000)
    expect(await channel.token()).toBe('access-1')
    await expect(channel.renew('access-1', {})).rejects.toMatchObject(over(REPLACED))
  })

  it('has its login renewed for as long as it is the one that is kept', async () => {
    const { channel, clock, refreshed } = await opened()
    await clock.advance(3_575_000)
    expect(await channel.token()).toBe('access-2')
    expect(await channel.renew('access-2', {})).toBe('renewed')
    expect(await channel.token()).toBe('access-3')
    expect(refreshed()).toEqual(['refresh-1', 'refresh-2'])
  })

  it('sends nothing more once its login is forgotten, also when somebody else has signed in by then', async () => {
    for (const forget of ['forget', 'forgetAll'] as const) {
      const { auth, channel, signIn } = await opened()
      if (forget === 'forget') await auth.forget(OWNER)
      else await auth.forgetAll(OWNER.upstream)
      await expect(channel.token()).rejects.toMatchObject(over(FORGOTTEN))
      await signIn()
      await expect(channel.token()).rejects.toMatchObject(over(FORGOTTEN))
      await expect(channel.renew('access-1', {})).rejects.toMatchObject(over(FORGOTTEN))
    }
  })

  it('of an agent goes on with the login of all that it was opened with when the agent signs in itself', async () => {
    const { auth, channel, signIn, open } = await opened(RESEARCHER)
    await signIn(RESEARCHER)
    const own = open(RESEARCHER)
    expect([await channel.token(), await own.token()]).toEqual(['access-1', 'access-2'])
    expect([channel.agent(), own.agent()]).toEqual([undefined, 'researcher'])
    await auth.forget(RESEARCHER)
    // That of all is none of its own, and is not shown in its place.
    await expect(own.token()).rejects.toMatchObject(over(FORGOTTEN))
    expect(await channel.token()).toBe('access-1')
  })

  it('that was opened without a login never has one', async () => {
    const { auth, signIn, open } = await opened()
    await auth.forget(OWNER)
    const channel = open()
    expect(await channel.token()).toBeUndefined()
    await signIn()
    expect(await channel.token()).toBeUndefined()
    expect(await channel.renew(undefined, {})).toBe('signIn')
  })

  it('says nothing of what the login in the place of its own lacks', async () => {
    const { auth, channel, signIn, place } = await opened()
    await signIn()
    await channel.lacking(WRITE)
    const attempt = await auth.begin(OWNER, place.upstream)
    attempt.cancel()
    expect(new URL(attempt.url).searchParams.get('scope')).toBe('read')
  })
})
