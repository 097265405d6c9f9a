import { describe, expect, it, vi } from 'vitest'
import type { HttpUpstream } from '../../../contracts/index.ts'
import { MOST_WANTED } from '../../../core/upstreams/index.ts'
import { authFixture, OWNER, oauthPlace } from '../testing/oauth-fixture.ts'
import type { UpstreamAuth } from './upstream-auth.ts'

const WRITE = { error: 'insufficient_scope', scope: 'write' }
const RESEARCHER = { ...OWNER, agent: 'researcher' }

/** Somebody who has signed in with the right to read. */
async function reader(quirks: Parameters<typeof oauthPlace>[0] = {}) {
  const place = await oauthPlace(quirks)
  const desk = authFixture()
  const signIn = async (auth = desk.auth, owner = OWNER) => {
    const attempt = await auth.begin(owner, place.upstream)
    await attempt.take(place.approve(attempt.url))
  }
  await signIn()
  return { place, ...desk, signIn, tokens: desk.auth.for(OWNER, place.upstream) }
}

/** The rights that a person would be asked for now. */
async function askedOf(auth: UpstreamAuth, upstream: HttpUpstream, owner = OWNER): Promise<string[]> {
  const attempt = await auth.begin(owner, upstream)
  attempt.cancel()
  return (new URL(attempt.url).searchParams.get('scope') ?? '').split(' ').toSorted()
}

describe('rights that a login lacks', () => {
  it('are asked for also when the server has turned the token away since, and named none or others', async () => {
    const { auth, place, tokens } = await reader()
    await tokens.lacking(WRITE)
    await tokens.renew('access-1', {})
    expect(await askedOf(auth, place.upstream)).toEqual(['read', 'write'])
    await tokens.renew('access-2', { scope: 'list' })
    expect(await askedOf(auth, place.upstream)).toEqual(['list', 'read', 'write'])
  })

  it('are asked for together where several requests lacked some', async () => {
    const { auth, place, tokens } = await reader()
    await tokens.lacking(WRITE)
    await tokens.lacking({ ...WRITE, scope: 'delete write' })
    expect(await askedOf(auth, place.upstream)).toEqual(['delete', 'read', 'write'])
  })

  it('are asked for after a restart, also of a login that was renewed meanwhile', async () => {
    const { place, clock, tokens, restarted } = await reader()
    await tokens.lacking(WRITE)
    expect(await askedOf(restarted(), place.upstream)).toEqual(['read', 'write'])
    await clock.advance(3_575_000)
    expect(await tokens.token()).toBe('access-2')
    expect(await askedOf(restarted(), place.upstream)).toEqual(['read', 'write'])
  })

  it('are asked for after a restart when they came to light while the login was being renewed', async () => {
    const lacked: { now?: () => Promise<void> } = {}
    const { place, clock, tokens, restarted } = await reader({
      onToken(visit) {
        if (new URLSearchParams(visit.text).get('grant_type') !== 'refresh_token') return false
        void lacked.now?.().then(() => visit.json(200, { access_token: 'next', token_type: 'Bearer' }))
        return true
      },
    })
    lacked.now = () => tokens.lacking(WRITE)
    await clock.advance(3_575_000)
    expect(await tokens.token()).toBe('next')
    expect(await askedOf(restarted(), place.upstream)).toEqual(['read', 'write'])
  })

  it('are noted with the login that was shown, which may be that of all', async () => {
    const { auth, place, signIn, restarted } = await reader()
    const own = auth.for(RESEARCHER, place.upstream)
    await own.token()
    await own.lacking(WRITE)
    expect(await askedOf(restarted(), place.upstream)).toEqual(['read', 'write'])
    expect(await askedOf(auth, place.upstream, RESEARCHER)).toEqual(['read', 'write'])
    await signIn(auth, RESEARCHER)
    const since = auth.for(RESEARCHER, place.upstream)
    await since.token()
    await since.lacking({ ...WRITE, scope: 'delete' })
    expect(await askedOf(restarted(), place.upstream)).toEqual(['read', 'write'])
    expect(await askedOf(restarted(), place.upstream, RESEARCHER)).toEqual(['delete', 'read', 'write'])
  })

  it('are asked for once: the next login ends it, whatever it was given', async () => {
    const { place, auth, tokens, signIn, restarted } = await reader({ tokens: { scope: 'read' } })
    await tokens.lacking(WRITE)
    await signIn(restarted())
    expect(await askedOf(restarted(), place.upstream)).toEqual(['read'])
    await tokens.lacking(WRITE)
    await signIn(auth)
    expect(await askedOf(auth, place.upstream)).toEqual(['read'])
  })

  it('are written down when they are new, and not with every request', async () => {
    const { storage, tokens } = await reader()
    const commit = vi.spyOn(storage.store, 'commit')
    for (let i = 0; i < 3; i++) await tokens.lacking(WRITE)
    await tokens.lacking({ error: 'insufficient_scope' })
    expect(commit).toHaveBeenCalledOnce()
    expect(JSON.stringify(await storage.store.find('secrets', {}))).not.toContain('write')
  })

  it('are not noted without end for a server that wants others with every request', async () => {
    const { auth, place, storage, tokens, restarted } = await reader()
    const commit = vi.spyOn(storage.store, 'commit')
    for (let i = 0; i < 20; i++) await tokens.lacking({ ...WRITE, scope: `${i}`.padEnd(500, 'x') })
    expect(commit.mock.calls.length).toBeLessThan(5)
    for (const one of [auth, restarted()])
      expect((await askedOf(one, place.upstream)).join(' ').length).toBeLessThan(MOST_WANTED + 10)
  })

  it('are asked for by who knows them though they could not be written down', async () => {
    const { auth, place, storage, tokens } = await reader()
    await tokens.token()
    vi.spyOn(storage.store, 'commit').mockRejectedValueOnce(new Error('The disk is full.'))
    await expect(tokens.lacking(WRITE)).rejects.toThrow('full')
    expect(await askedOf(auth, place.upstream)).toEqual(['read', 'write'])
  })

  it('say nothing of another server that the entry was pointed at', async () => {
    const { auth, place, restarted } = await reader()
    const elsewhere = { ...place.upstream, url: `${place.endpoint.origin}/other` }
    await auth.for(OWNER, elsewhere).lacking(WRITE)
    expect(await askedOf(restarted(), place.upstream)).toEqual(['read'])
  })
})

describe('whose login it is', () => {
  it('is the agent’s where it has signed in itself, and otherwise that of all', async () => {
    const { auth, place, signIn } = await reader()
    const whose = async () => {
      const own = auth.for(RESEARCHER, place.upstream)
      await own.token()
      return own.agent()
    }
    expect(await whose()).toBeUndefined()
    await signIn(auth, RESEARCHER)
    expect(await whose()).toBe('researcher')
    await auth.forget(RESEARCHER)
    expect(await whose()).toBeUndefined()
  })
})
