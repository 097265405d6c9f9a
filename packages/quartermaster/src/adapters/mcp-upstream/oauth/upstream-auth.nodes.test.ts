import { describe, expect, it, vi } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { type SharedStorage, sharedStorages } from '../../../testing/shared-storage.ts'
import { authOn, OWNER, oauthPlace } from '../testing/oauth-fixture.ts'

const RESEARCHER = { ...OWNER, agent: 'researcher' }

/** Two processes on one store, and a place to sign in at. */
async function twoProcesses() {
  const clock = createFakeClock()
  const place = await oauthPlace()
  const auths = (await sharedStorages(['a', 'b'], { clock })).map(storage => authOf(storage))

  function authOf(storage: SharedStorage) {
    const { store, news, owner } = storage
    return authOn(storage, { clock, place: { store, news, self: { id: owner, host: owner, folder: owner } } })
  }

  const [here, there] = auths as [(typeof auths)[0], (typeof auths)[0]]
  const signIn = async (owner = OWNER) => {
    const attempt = await here.begin(owner, place.upstream)
    await attempt.take(place.approve(attempt.url))
  }
  const refreshes = () => place.tokenRequests.filter(form => form.get('grant_type') === 'refresh_token').length
  return { clock, place, here, there, signIn, refreshes }
}

describe('a login that several processes use', () => {
  it('is renewed by one of them, also when all find its end near at the same moment', async () => {
    const { clock, place, here, there, signIn, refreshes } = await twoProcesses()
    await signIn()
    const tokens = [here, there].map(auth => auth.for(OWNER, place.upstream))
    expect(await Promise.all(tokens.map(one => one.token()))).toEqual(['access-1', 'access-1'])
    await clock.advance(3_575_000)
    const renewed = Promise.all(tokens.map(one => one.token()))
    // Whoever comes second may look for the lease again in a moment.
    const ended = vi.fn<() => void>()
    void renewed.then(ended)
    await vi.waitUntil(
      async () => {
        await clock.advance(1)
        return ended.mock.calls.length > 0
      },
      { timeout: 300_000 },
    )
    expect(await renewed).toEqual(['access-2', 'access-2'])
    expect(refreshes()).toBe(1)
  })

  it('is taken from the store where another one has renewed it, and not renewed with what is used up', async () => {
    const { place, here, there, signIn, refreshes } = await twoProcesses()
    await signIn()
    const [mine, theirs] = [here, there].map(auth => auth.for(OWNER, place.upstream))
    await theirs?.token()
    expect(await mine?.renew('access-1', {})).toBe('renewed')
    expect(await theirs?.renew('access-1', {})).toBe('renewed')
    expect(await theirs?.token()).toBe('access-2')
    expect(refreshes()).toBe(1)
  })

  it('is known in all of them once they have looked, and told where one came or went', async () => {
    const { place, here, there, signIn } = await twoProcesses()
    const theirs = () => there.for(OWNER, place.upstream).token()
    expect(await there.agentsAt(OWNER.upstream)).toEqual([])
    expect(await theirs()).toBeUndefined()
    await signIn()
    expect(await there.recall()).toEqual(['tracker'])
    expect(await theirs()).toBe('access-1')
    expect(await there.recall()).toEqual([])
    // Anew, perhaps as somebody else: that is another one.
    await signIn()
    expect(await there.recall()).toEqual(['tracker'])
    expect(await theirs()).toBe('access-2')
    await here.for(OWNER, place.upstream).renew('access-2', {})
    expect(await there.recall()).toEqual([])
    expect(await theirs()).toBe('access-3')
    await signIn(RESEARCHER)
    expect(await there.recall()).toEqual(['tracker'])
    expect(await there.agentsAt(OWNER.upstream)).toEqual(['researcher'])
    // Whoever asks who is signed in there does not keep it from being told.
    await signIn()
    expect(await there.agentsAt(OWNER.upstream)).toEqual(['researcher'])
    expect(await there.recall()).toEqual(['tracker'])
    await here.forgetAll(OWNER.upstream)
    expect(await there.recall()).toEqual(['tracker'])
    expect(await theirs()).toBeUndefined()
    expect(await here.recall()).toEqual([])
  })

  it('is gone on with by a channel of another process when it is renewed, and when somebody signs in anew', async () => {
    const { clock, place, here, there, signIn, refreshes } = await twoProcesses()
    await signIn()
    await there.agentsAt(OWNER.upstream)
    const theirs = there.for(OWNER, place.upstream)
    expect(await theirs.token()).toBe('access-1')
    await here.for(OWNER, place.upstream).renew('access-1', {})
    expect(await there.recall()).toEqual([])
    expect(await theirs.token()).toBe('access-2')
    await signIn()
    await clock.advance(3_575_000)
    // It finds out itself that there is another one, before it has looked.
    expect(await theirs.token()).toBe('access-2')
    expect(await there.recall()).toEqual(['tracker'])
    expect(await theirs.token()).toBe('access-2')
    expect(refreshes()).toBe(1)
  })

  it('is not used any more by a channel of another process once somebody has signed out', async () => {
    const { place, here, there, signIn } = await twoProcesses()
    await signIn()
    await there.agentsAt(OWNER.upstream)
    const theirs = there.for(OWNER, place.upstream)
    expect(await theirs.token()).toBe('access-1')
    await here.forget(OWNER)
    expect(await there.recall()).toEqual(['tracker'])
    await expect(theirs.token()).rejects.toThrow('was forgotten meanwhile')
    await expect(theirs.renew('access-1', {})).rejects.toThrow('was forgotten meanwhile')
  })
})
