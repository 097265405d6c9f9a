import { describe, expect, it } from 'vitest'
import { authFixture, OWNER, oauthPlace } from '../testing/oauth-fixture.ts'

/** Signed in at an issuer that answers as it is told to, instead of renewing anything. */
async function signedIn() {
  const issuer: { answer?: readonly [number, unknown?] | undefined } = {}
  const place = await oauthPlace({
    onToken({ json }) {
      if (issuer.answer) json(...issuer.answer)
      return issuer.answer !== undefined
    },
  })
  const desk = authFixture()
  const signIn = async () => {
    const attempt = await desk.auth.begin(OWNER, place.upstream)
    await attempt.take(place.approve(attempt.url))
  }
  await signIn()
  const asked = () => place.tokenRequests.filter(form => form.get('grant_type') === 'refresh_token').length
  const isAway = () => desk.auth.isIssuerAway(OWNER.upstream)
  return { ...desk, place, issuer, signIn, asked, isAway, tokens: desk.auth.for(OWNER, place.upstream) }
}

describe('an issuer that could not be asked', () => {
  it('is asked again every 5 s by whoever looks after it, until it is there and the login renewed', async () => {
    const { issuer, tokens, clock, asked, isAway } = await signedIn()
    issuer.answer = [503, {}]
    expect(isAway()).toBe(false)
    await expect(tokens.renew('access-1', {})).rejects.toThrow('could not be renewed')
    for (let looks = 0; looks < 3; looks++) expect(isAway()).toBe(true)
    expect(asked()).toBe(1)
    await clock.advance(5_000)
    expect(isAway()).toBe(true)
    await expect.poll(asked).toBe(2)
    issuer.answer = undefined
    // As long as it is being asked, it is not asked once more.
    await expect.poll(async () => (await clock.advance(5_000), isAway())).toBe(false)
    expect(await tokens.token()).toBe('access-2')
  })

  it('is not asked again for what it gave and the store did not take', async () => {
    const { storage, tokens, asked, restarted, place } = await signedIn()
    const { commit } = storage.store
    storage.store.commit = async () => {
      throw new Error('The store is away.')
    }
    await expect(tokens.renew('access-1', {})).rejects.toThrow('The store is away.')
    await expect(tokens.renew('access-1', {})).rejects.toThrow('The store is away.')
    storage.store.commit = commit
    expect(await tokens.renew('access-1', {})).toBe('renewed')
    expect(asked()).toBe(1)
    expect(await tokens.token()).toBe('access-2')
    expect(await restarted().for(OWNER, place.upstream).token()).toBe('access-2')
  })

  it.each([
    [503, {}],
    [502, 'no gateway'],
    [429, {}],
    [425, undefined],
    [408, undefined],
    [400, { error: 'temporarily_unavailable' }],
    [400, { error: 'slow_down' }],
    [400, { error: 'server_error' }],
    [302, undefined],
    [200, { odd: true }],
  ])('is one that answers %i %j, which says nothing of the login', async (...answer) => {
    const { issuer, tokens, isAway } = await signedIn()
    issuer.answer = answer
    await expect(tokens.renew('access-1', {})).rejects.toThrow('could not be renewed')
    expect(isAway()).toBe(true)
    issuer.answer = undefined
    expect(await tokens.renew('access-1', {})).toBe('renewed')
  })

  it('is away no more from the moment that the login is forgotten', async () => {
    for (const forget of ['forget', 'forgetAll'] as const) {
      const { auth, issuer, tokens, isAway } = await signedIn()
      issuer.answer = [503, {}]
      await expect(tokens.renew('access-1', {})).rejects.toThrow('could not be renewed')
      await (forget === 'forget' ? auth.forget(OWNER) : auth.forgetAll(OWNER.upstream))
      expect(isAway()).toBe(false)
    }
  })

  it('is not asked about a login that is there by now in the place of the one before', async () => {
    const { issuer, tokens, clock, signIn, asked, isAway } = await signedIn()
    issuer.answer = [503, {}]
    await expect(tokens.renew('access-1', {})).rejects.toThrow('could not be renewed')
    issuer.answer = undefined
    await signIn()
    await clock.advance(5_000)
    await expect.poll(isAway).toBe(false)
    expect(asked()).toBe(1)
  })

  it('is no matter any more once the login is forgotten, or another one is there', async () => {
    for (const fix of ['forget', 'signIn'] as const) {
      const { auth, issuer, tokens, clock, signIn, isAway } = await signedIn()
      issuer.answer = [503, {}]
      await expect(tokens.renew('access-1', {})).rejects.toThrow('could not be renewed')
      issuer.answer = undefined
      await (fix === 'forget' ? auth.forget(OWNER) : signIn())
      await clock.advance(5_000)
      await expect.poll(isAway).toBe(false)
    }
  })

  it('is so for its own upstream alone', async () => {
    const { auth, issuer, tokens } = await signedIn()
    issuer.answer = [503, {}]
    await expect(tokens.renew('access-1', {})).rejects.toThrow('could not be renewed')
    expect(auth.isIssuerAway('tracker2')).toBe(false)
  })
})

describe('an issuer that has said no', () => {
  it.each([
    [200, { error: 'bad_refresh_token', error_description: 'The refresh token passed is incorrect or expired.' }],
    [400, { error: 'invalid_request' }],
    [400, { error: 'invalid_grant' }],
    [400, { error: 'Token-Expired' }],
    [401, undefined],
    [500, { error: 'invalid_grant' }],
  ])('has done so in whatever words, so that somebody has to sign in: %i %j', async (...answer) => {
    const { issuer, tokens, asked, isAway } = await signedIn()
    issuer.answer = answer
    for (let calls = 0; calls < 2; calls++) expect(await tokens.renew('access-1', {})).toBe('signIn')
    expect([asked(), isAway()]).toEqual([1, false])
  })

  it.each([
    [503, { status: 503, error: 'Service Unavailable' }],
    [500, { error: 'Internal Server Error' }],
    [429, { error: 'too_many_requests' }],
    [403, {}],
    [404, 'gone'],
    [404, { error: 'Not Found' }],
    [403, { error: 'rate_limit_exceeded' }],
  ])('is not one that fails in words of its own, or behind a proxy: %i %j', async (...answer) => {
    const { issuer, tokens } = await signedIn()
    issuer.answer = answer
    await expect(tokens.renew('access-1', {})).rejects.toThrow('If this continues, sign in again.')
  })

  it('is not shown the same again, until somebody has signed in', async () => {
    const { auth, place, issuer, tokens, signIn, asked } = await signedIn()
    issuer.answer = [400, { error: 'invalid_grant' }]
    for (let calls = 0; calls < 3; calls++) expect(await tokens.renew('access-1', {})).toBe('signIn')
    expect(asked()).toBe(1)
    issuer.answer = undefined
    await signIn()
    expect(await auth.for(OWNER, place.upstream).renew('access-2', {})).toBe('renewed')
  })

  it('is asked again when the entry has changed, which may have been what it did not like', async () => {
    const { auth, place, issuer, tokens } = await signedIn()
    issuer.answer = [401, { error: 'invalid_client' }]
    expect(await tokens.renew('access-1', {})).toBe('signIn')
    issuer.answer = undefined
    expect(await auth.for(OWNER, { ...place.upstream }).renew('access-1', {})).toBe('renewed')
  })
})
