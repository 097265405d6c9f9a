import { describe, expect, it } from 'vitest'
import type { UpstreamAuth } from '../../adapters/mcp-upstream/index.ts'
import type { Visit } from '../../adapters/mcp-upstream/testing/http-endpoint.ts'
import { authFixture, type OAuthQuirks, oauthPlace } from '../../adapters/mcp-upstream/testing/oauth-fixture.ts'
import { createIds } from '../../adapters/system/index.ts'
import { AppError, UpstreamConfig, type UpstreamStatus } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createLoginRecall, createLogins } from './logins.ts'

const FILES = UpstreamConfig.parse({ command: 'files' })

async function loginFixture(quirks: OAuthQuirks = {}) {
  const place = await oauthPlace(quirks)
  const { auth, clock } = authFixture()
  const restarted: string[] = []
  let tracker: UpstreamConfig | undefined = place.upstream
  const logins = createLogins({
    auth: async () => auth,
    clock,
    ids: createIds(),
    upstream: name => (name === 'files' ? FILES : name === 'tracker' ? tracker : undefined),
    async expectAgent(name) {
      if (name !== 'bob') throw new AppError('AGENT_NOT_FOUND', `There is no agent "${name}".`)
    },
    onLoginChanged: async ({ upstream }) => void restarted.push(upstream),
  })
  return { place, auth, logins, restarted, change: (to: UpstreamConfig | undefined) => (tracker = to) }
}

describe('logins', () => {
  it('wait for the person, store the login, and reconnect', async () => {
    const { place, logins, restarted } = await loginFixture()
    const { attempt, url } = await logins.beginLogin({ upstream: 'tracker' })
    const finished = logins.finishLogin({ attempt })
    await fetch(place.approve(url))
    expect(await finished).toEqual({
      upstream: 'tracker',
      issuer: place.endpoint.origin,
      scope: 'read',
      expiresAt: expect.any(Number),
      renewable: true,
    })
    expect(restarted).toEqual(['tracker'])
    expect(await logins.logout({ upstream: 'tracker' })).toEqual({ wasSignedIn: true })
    expect(restarted).toEqual(['tracker', 'tracker'])
  })

  it('are refused where a key in the entry would be sent all the same', async () => {
    const { place, logins, change } = await loginFixture()
    const key = { Authorization: 'Bearer key' }
    const refusal = (setting: string) => ({
      code: 'INPUT_INVALID',
      message: `"tracker" is sent the key in "${setting}" of its entry, and no login. Take that out first.`,
    })
    change({ ...place.upstream, headers: key })
    await expect(logins.beginLogin({ upstream: 'tracker' })).rejects.toMatchObject(refusal('headers.Authorization'))
    // An agent's own login goes before what all share.
    expect(await logins.beginLogin({ upstream: 'tracker', agent: 'bob' })).toMatchObject({ url: expect.any(String) })
    change({ ...place.upstream, agents: { bob: { headers: key } } })
    await expect(logins.beginLogin({ upstream: 'tracker', agent: 'bob' })).rejects.toMatchObject(
      refusal('agents.bob.headers.Authorization'),
    )
  })

  it('are cancelled by a caller that stops waiting, and by the next attempt', async () => {
    const { logins } = await loginFixture()
    const stop = new AbortController()
    const first = await logins.beginLogin({ upstream: 'tracker' })
    const waiting = logins.finishLogin(first, { signal: stop.signal })
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' })
    const second = await logins.beginLogin({ upstream: 'tracker' })
    const other = logins.finishLogin({ attempt: second.attempt })
    other.catch(() => {})
    await logins.beginLogin({ upstream: 'tracker' })
    await expect(other).rejects.toMatchObject({
      code: 'LOGIN_FAILED',
      message: 'Signing in at "tracker" failed: another attempt to sign in there was begun meanwhile.',
    })
    await expect(logins.finishLogin({ attempt: second.attempt })).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
  })

  it('keep nothing of an attempt that another one has replaced, whatever its issuer answers later', async () => {
    const asked = deferred<Visit>()
    const { place, auth, logins } = await loginFixture({
      onToken(visit) {
        const isFirst = visit.text.includes('code-1')
        if (isFirst) asked.resolve(visit)
        return isFirst
      },
    })
    const first = await logins.beginLogin({ upstream: 'tracker' })
    const page = fetch(place.approve(first.url))
    const { json, response } = await asked.promise
    const second = await logins.beginLogin({ upstream: 'tracker' })
    expect((await page).status).toBe(400)
    await logins.finishLogin({ attempt: second.attempt, redirectUrl: place.approve(second.url) })
    json(200, { access_token: 'of another', token_type: 'Bearer' })
    await new Promise(done => response.once('close', done))
    await fetch(place.endpoint.origin)
    expect(await auth.for({ upstream: 'tracker' }, place.upstream).token()).toBe('access-1')
  })

  it('keep nothing for an upstream that was changed meanwhile', async () => {
    const { place, auth, logins, restarted, change } = await loginFixture()
    const { attempt, url } = await logins.beginLogin({ upstream: 'tracker' })
    const finished = logins.finishLogin({ attempt })
    finished.catch(() => {})
    change({ ...place.upstream, url: 'https://other.example/mcp' })
    const page = await fetch(place.approve(url))
    expect(await page.text()).toContain('removed or changed meanwhile')
    await expect(finished).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
    expect(await auth.forget({ upstream: 'tracker' })).toBe(false)
    expect(restarted).toEqual([])
  })

  it('can be deleted after the entry of the upstream was removed', async () => {
    const { place, logins, restarted, change } = await loginFixture()
    for (const owner of [{ upstream: 'tracker' }, { upstream: 'tracker', agent: 'bob' }]) {
      change(place.upstream)
      const { attempt, url } = await logins.beginLogin(owner)
      await logins.finishLogin({ attempt, redirectUrl: place.approve(url) })
      restarted.length = 0
      change(undefined)
      expect(await logins.logout(owner)).toEqual({ wasSignedIn: true })
      expect(restarted).toEqual([])
      await expect(logins.logout(owner)).rejects.toMatchObject({
        code: 'NAME_UNKNOWN',
        message: 'No upstream is named "tracker", and no such login is kept. See them: quartermaster upstreams',
      })
    }
  })

  it('are refused for unknown agents', async () => {
    const { place, logins } = await loginFixture()
    await expect(logins.beginLogin({ upstream: 'tracker', agent: 'bobb' })).rejects.toMatchObject({
      code: 'AGENT_NOT_FOUND',
    })
    expect(place.registered).toEqual([])
    const { attempt, url } = await logins.beginLogin({ upstream: 'tracker', agent: 'bob' })
    expect(await logins.finishLogin({ attempt, redirectUrl: place.approve(url) })).toMatchObject({ agent: 'bob' })
    // What was left behind by one that is gone can still be forgotten.
    expect(await logins.logout({ upstream: 'tracker', agent: 'bobb' })).toEqual({ wasSignedIn: false })
  })
})

it('reconnects after a login on another node, and tries again if that failed', async () => {
  const found = [['tracker', 'removed'], []]
  const auth = async () => ({ recall: async () => found.shift() ?? [] }) as unknown as UpstreamAuth
  const reconnected: string[] = []
  let isAway = true
  const upstreams = {
    statuses: () => [{ name: 'tracker' }] as UpstreamStatus[],
    async loginChanged({ upstream }: { upstream: string }) {
      if (isAway) throw new Error('The store is away.')
      reconnected.push(upstream)
    },
  }
  const recall = createLoginRecall(auth, upstreams)
  await expect(recall()).rejects.toThrow('The store is away.')
  isAway = false
  await recall()
  await recall()
  expect(reconnected).toEqual(['tracker'])
})
