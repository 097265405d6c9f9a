import { describe, expect, it } from 'vitest'
import { deferred } from '../../../testing/deferred.ts'
import { call, httpFixture } from '../testing/http-fixture.ts'
import { authFixture, OWNER, oauthPlace } from '../testing/oauth-fixture.ts'

async function signedIn(quirks: Parameters<typeof oauthPlace>[0] = {}) {
  const place = await oauthPlace(quirks)
  const desk = authFixture()
  const attempt = await desk.auth.begin(OWNER, place.upstream)
  await attempt.take(place.approve(attempt.url))
  return { place, ...desk, tokens: desk.auth.for(OWNER, place.upstream) }
}

/** Signed in at an issuer that fails for as long as it is told to. */
async function renewedByLuck() {
  let answer: readonly [number, object] | undefined
  const onToken: NonNullable<Parameters<typeof oauthPlace>[0]>['onToken'] = ({ json }) => {
    if (answer) json(...answer)
    return answer !== undefined
  }
  const fail = (...next: [number, object] | []) => void (answer = next.length === 0 ? undefined : next)
  return { ...(await signedIn({ onToken })), fail }
}

describe('the tokens of an upstream', () => {
  it('are there after a restart, and nowhere in the store to be read', async () => {
    const { place, storage, restarted } = await signedIn()
    expect(await restarted().for(OWNER, place.upstream).token()).toBe('access-1')
    const rows = JSON.stringify(await storage.store.find('secrets', {}))
    expect(rows).toContain('login:tracker')
    expect(rows).not.toMatch(/access-1|refresh-1/)
  })

  it('are renewed before they end, once for all who wait', async () => {
    const { place, clock, tokens } = await signedIn()
    await clock.advance(3_575_000)
    expect(await Promise.all([tokens.token(), tokens.token(), tokens.renew('access-1', {})])).toEqual([
      'access-2',
      'access-2',
      'renewed',
    ])
    expect(place.tokenRequests.map(form => form.get('grant_type'))).toEqual(['authorization_code', 'refresh_token'])
    expect(place.tokenRequests[1]?.get('resource')).toBe(place.upstream.url)
  })

  it('are used for half of their time when that is short, and not renewed with every request', async () => {
    const { place, clock, tokens } = await signedIn({ tokens: { expires_in: 20 } })
    await clock.advance(9_000)
    expect(await tokens.token()).toBe('access-1')
    await clock.advance(1_000)
    expect([await tokens.token(), await tokens.token()]).toEqual(['access-2', 'access-2'])
    expect(place.tokenRequests).toHaveLength(2)
  })

  it('are used to their end when they cannot be renewed before, and the issuer is asked again in a while', async () => {
    const { place, clock, tokens, fail } = await renewedByLuck()
    fail(500, {})
    await clock.advance(3_572_000)
    expect([await tokens.token(), await tokens.token(), await tokens.token()]).toEqual(Array(3).fill('access-1'))
    expect(place.tokenRequests).toHaveLength(2)
    await clock.advance(5_000)
    expect(await tokens.token()).toBe('access-1')
    expect(place.tokenRequests).toHaveLength(3)
    await clock.advance(23_000)
    await expect(tokens.token()).rejects.toThrow('could not be renewed')
    fail()
    expect(await tokens.token()).toBe('access-2')
  })

  it('are used while their issuer takes its time to renew them, and waited for once they have ended', async () => {
    const answers: (() => void)[] = []
    const { clock, tokens } = await signedIn({
      onToken({ text, json }) {
        if (!text.includes('refresh_token')) return false
        answers.push(() => json(200, { access_token: 'late', token_type: 'Bearer' }))
        return true
      },
    })
    await clock.advance(3_572_000)
    const first = tokens.token()
    await expect.poll(() => answers.length).toBe(1)
    await clock.advance(1_000)
    expect([await first, await tokens.token()]).toEqual(['access-1', 'access-1'])
    await clock.advance(8_000)
    const second = tokens.token()
    await clock.advance(1_000)
    expect(await second).toBe('access-1')
    expect(answers).toHaveLength(1)
    const ended = tokens.renew('access-1', {})
    answers[0]?.()
    expect([await ended, await tokens.token()]).toEqual(['renewed', 'late'])
  })

  it('are renewed early after all when the issuer can be asked again', async () => {
    const { clock, tokens, fail } = await renewedByLuck()
    fail(500, {})
    await clock.advance(3_572_000)
    expect(await tokens.token()).toBe('access-1')
    fail()
    await clock.advance(5_000)
    expect(await tokens.token()).toBe('access-2')
  })

  it('are used to their end when the issuer renews them no more, and then need a person', async () => {
    const { auth, place, clock, tokens, fail } = await renewedByLuck()
    fail(400, { error: 'invalid_grant' })
    await clock.advance(3_572_000)
    expect([await tokens.token(), await tokens.token()]).toEqual(['access-1', 'access-1'])
    expect(place.tokenRequests).toHaveLength(2)
    await clock.advance(28_000)
    // A session goes on as whose it is, until the server says no.
    expect(await tokens.token()).toBe('access-1')
    expect(await tokens.renew('access-1', {})).toBe('signIn')
    // Nor does another begin as nobody.
    const next = auth.for(OWNER, place.upstream)
    expect(await next.token()).toBe('access-1')
    expect(await next.renew('access-1', {})).toBe('signIn')
  })

  it('have no end when the issuer names none for the next ones, whatever it said of those before', async () => {
    const { place, clock, tokens } = await signedIn({
      onToken(visit) {
        const isRefresh = new URLSearchParams(visit.text).get('grant_type') === 'refresh_token'
        if (isRefresh) visit.json(200, { access_token: 'endless', token_type: 'Bearer' })
        return isRefresh
      },
    })
    await clock.advance(3_575_000)
    expect([await tokens.token(), await tokens.token()]).toEqual(['endless', 'endless'])
    await clock.advance(90_000)
    expect(await tokens.token()).toBe('endless')
    expect(place.tokenRequests).toHaveLength(2)
  })

  it('are renewed when the server no longer takes them, within the request that met it', async () => {
    const { place, tokens } = await signedIn()
    place.accept('something else')
    const desk = await httpFixture(place.upstream.url, { auth: tokens })
    await desk.channel.send(call(1))
    expect(desk.messages).toMatchObject([{ id: 1, result: { ok: true } }])
    expect(await tokens.token()).toBe('access-2')
  })

  it('need a person when the issuer says no, and none when it cannot be asked', async () => {
    const { tokens, fail } = await renewedByLuck()
    fail(503, { message: 'secret words' })
    const error: Error = await tokens.renew('access-1', {}).catch(reason => reason)
    expect(error.message).toMatch(/^The login at 127\.0\.0\.1:\d+ could not be renewed/)
    expect(error.message).not.toContain('secret words')
    fail(400, { error: 'invalid_grant', error_description: 'secret words' })
    expect(await tokens.renew('access-1', {})).toBe('signIn')
  })

  it('belong to one address: an entry that was pointed elsewhere has none', async () => {
    const { auth, place } = await signedIn()
    const moved = { ...place.upstream, url: `${place.endpoint.origin}/other` }
    expect(await auth.for(OWNER, moved).token()).toBeUndefined()
  })

  it('are an agent’s own where it signed in itself', async () => {
    const { auth, place } = await signedIn()
    const researcher = { ...OWNER, agent: 'researcher' }
    const own = auth.for(researcher, place.upstream)
    const attempt = await auth.begin(researcher, place.upstream)
    await attempt.take(place.approve(attempt.url))
    expect(await own.token()).toBe('access-2')
    await auth.forget(OWNER)
    expect(await auth.for({ ...OWNER, agent: 'analyst' }, place.upstream).token()).toBeUndefined()
  })

  it('are those of all for an agent that has not signed in itself, also when they are renewed', async () => {
    const { auth, place, clock, tokens } = await signedIn()
    const own = auth.for({ ...OWNER, agent: 'researcher' }, place.upstream)
    expect(await own.token()).toBe('access-1')
    await clock.advance(3_575_000)
    expect(await Promise.all([own.token(), tokens.token()])).toEqual(['access-2', 'access-2'])
    expect(await own.renew('access-2', {})).toBe('renewed')
    expect(await tokens.token()).toBe('access-3')
    expect(await auth.agentsAt(OWNER.upstream)).toEqual([])
  })

  it('are asked for with the rights that were lacking beside those there are', async () => {
    const { auth, place, tokens } = await signedIn()
    tokens.lacking({ error: 'insufficient_scope', scope: 'write' })
    const attempt = await auth.begin(OWNER, place.upstream)
    expect(new URL(attempt.url).searchParams.get('scope')?.split(' ').toSorted()).toEqual(['read', 'write'])
    attempt.cancel()
  })

  it('are asked for with what an agent lacked that was let in with those of all', async () => {
    const { auth, place } = await signedIn()
    const researcher = { ...OWNER, agent: 'researcher' }
    const own = auth.for(researcher, place.upstream)
    await own.token()
    await own.lacking({ error: 'insufficient_scope', scope: 'write' })
    for (const owner of [OWNER, researcher]) {
      const attempt = await auth.begin(owner, place.upstream)
      expect(new URL(attempt.url).searchParams.get('scope')).toContain('write')
      attempt.cancel()
    }
  })

  it('are renewed by an issuer within fifteen seconds, or by the next who asks', async () => {
    let isSlow = true
    const asked = deferred()
    const { clock, place, tokens } = await signedIn({
      onToken(visit) {
        if (!isSlow || new URLSearchParams(visit.text).get('grant_type') !== 'refresh_token') return false
        visit.response.writeHead(200, { 'content-type': 'application/json' })
        visit.response.write('{')
        asked.resolve()
        return true
      },
    })
    await clock.advance(3_600_000)
    const token = Promise.resolve(tokens.token())
    token.catch(() => {})
    await asked.promise
    // What was written before this was asked is there when it is answered.
    await fetch(`${place.endpoint.origin}/later`)
    await clock.advance(15_000)
    await expect(token).rejects.toThrow(/could not be renewed: .* no answer within 15000 ms/)
    isSlow = false
    expect(await tokens.token()).toBe('access-2')
  })

  it('stay forgotten when they were being renewed meanwhile', async () => {
    const asked = deferred()
    const answer = deferred()
    const { auth, clock, storage, tokens } = await signedIn({
      onToken(visit) {
        if (new URLSearchParams(visit.text).get('grant_type') !== 'refresh_token') return false
        asked.resolve()
        void answer.promise.then(() => visit.json(200, { access_token: 'late', token_type: 'Bearer' }))
        return true
      },
    })
    await clock.advance(3_575_000)
    const token = tokens.token()
    await asked.promise
    await auth.forgetAll(OWNER.upstream)
    answer.resolve()
    expect(await token).toBeUndefined()
    expect(await storage.store.count('secrets')).toBe(0)
  })

  it.each(['find', 'commit'] as const)(
    'stay forgotten when that happens right before a %s of the renewed ones',
    async step => {
      const { auth, clock, place, storage, tokens, restarted } = await signedIn()
      expect(await tokens.token()).toBe('access-1')
      await clock.advance(3_575_000)
      const { [step]: inner } = storage.store
      const forgetFirst = async (...args: never[]) => {
        Object.assign(storage.store, { [step]: inner })
        await auth.forgetAll(OWNER.upstream)
        return (inner as (...args: never[]) => unknown)(...args)
      }
      Object.assign(storage.store, { [step]: forgetFirst })
      for (let i = 0; i < 2; i++) await expect(tokens.token()).rejects.toThrow('was forgotten meanwhile')
      expect(await auth.for(OWNER, place.upstream).token()).toBeUndefined()
      expect(await storage.store.count('secrets')).toBe(0)
      expect(await restarted().for(OWNER, place.upstream).token()).toBeUndefined()
    },
  )

  it('are forgotten with those of agents when the upstream is, and those of others are not', async () => {
    const { auth, place, storage } = await signedIn()
    for (const owner of [{ ...OWNER, agent: 'researcher' }, { upstream: 'tracker2' }]) {
      const attempt = await auth.begin(owner, place.upstream)
      await attempt.take(place.approve(attempt.url))
    }
    expect(await storage.store.count('secrets')).toBe(3)
    await auth.forgetAll(OWNER.upstream)
    expect(await storage.store.find('secrets', { columns: ['name'] })).toEqual([{ name: 'login:tracker2' }])
    for (const agent of [undefined, 'researcher'])
      expect(await auth.for({ ...OWNER, agent }, place.upstream).token()).toBeUndefined()
    expect(await auth.agentsAt(OWNER.upstream)).toEqual([])
  })

  it('are forgotten with what a server wanted of whoever had them', async () => {
    const { auth, place, tokens } = await signedIn()
    for (const forget of [() => auth.forgetAll(OWNER.upstream), () => auth.forget(OWNER)]) {
      tokens.lacking({ error: 'insufficient_scope', scope: 'write' })
      await forget()
      const attempt = await auth.begin(OWNER, place.upstream)
      expect(new URL(attempt.url).searchParams.get('scope')).toBe('read')
      attempt.cancel()
    }
  })

  it('are forgotten when asked to', async () => {
    const { auth, tokens, storage } = await signedIn()
    expect(await auth.forget(OWNER)).toBe(true)
    expect(await auth.forget(OWNER)).toBe(false)
    expect(await tokens.token()).toBeUndefined()
    expect(await storage.store.count('secrets')).toBe(0)
  })
})
