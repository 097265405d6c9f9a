import { describe, expect, it } from 'vitest'
import type { HttpUpstream } from '../../../contracts/index.ts'
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
  it('are asked for after a restart, also of a login that was renewed meanwhile', async () => {
    const { place, clock, tokens, restarted } = await reader()
    await tokens.lacking(WRITE)
    expect(await askedOf(restarted(), place.upstream)).toEqual(['read', 'write'])
    await clock.advance(3_575_000)
    expect(await tokens.token()).toBe('access-2')
    expect(await askedOf(restarted(), place.upstream)).toEqual(['read', 'write'])
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
