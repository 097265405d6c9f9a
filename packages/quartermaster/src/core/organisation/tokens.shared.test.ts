import { describe, expect, it } from 'vitest'
import { createIds, sha256 } from '../../adapters/system/index.ts'
import { AppError } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { sharedStorages } from '../../testing/shared-storage.ts'
import { createTokens } from './index.ts'

/** The tokens of two processes on one store. */
async function twoProcesses() {
  const clock = createFakeClock()
  const [here, there] = await sharedStorages(['here', 'there'], { clock })
  if (!here || !there) throw new Error('Two were asked for.')
  const open = async ({ store, news }: typeof here) => {
    const tokens = createTokens({ store, clock, ids: createIds(), digest: sha256, news })
    await tokens.load()
    const ended: string[] = []
    tokens.onRevoked(id => ended.push(id))
    return { tokens, ended }
  }
  const heard = async () => {
    for (let i = 0; i < 10; i++) await clock.breathe()
  }
  return { clock, line: there, heard, here: await open(here), there: await open(there) }
}

describe('tokens that another process', () => {
  it('makes are good here, and those it takes back end here with all that they have open', async () => {
    const { here, there, heard } = await twoProcesses()
    const { token, facts } = await here.tokens.create({ agent: 'worker' })
    await heard()
    expect(there.tokens.verify(token)).toEqual({ tokenId: facts.id, organisation: 'default', agent: 'worker' })
    expect(there.tokens.fresh(token)).toBeUndefined()
    await here.tokens.revoke(facts.id)
    await heard()
    expect([there.tokens.verify(token), there.ended]).toEqual([undefined, [facts.id]])
    expect(there.tokens.list('default')).toMatchObject([{ id: facts.id, state: 'revoked' }])
  })

  it('rotates end here when their overlap is over', async () => {
    const { here, there, heard, clock } = await twoProcesses()
    const { token, facts } = await here.tokens.create({ agent: 'worker' })
    const next = await here.tokens.rotate(facts.id, { overlapMs: 60_000 })
    await heard()
    expect([there.tokens.verify(token)?.agent, there.tokens.verify(next.token)?.agent]).toEqual(['worker', 'worker'])
    await clock.advance(60_000)
    expect([there.tokens.verify(token), there.ended]).toEqual([undefined, [facts.id]])
  })

  it('takes back are refused here at once, also while nothing is heard of it', async () => {
    const { here, there, heard, line } = await twoProcesses()
    const [one, other] = [await here.tokens.create({ agent: 'worker' }), await here.tokens.create({ agent: 'worker' })]
    await heard()
    line.cutOff()
    await here.tokens.revoke(one.facts.id)
    expect(there.tokens.isFresh()).toBe(false)
    for (const { token } of [one, other]) await there.tokens.fresh(token)
    expect(there.tokens.verify(one.token)).toBeUndefined()
    expect(there.tokens.verify(other.token)?.agent).toBe('worker')
    expect(there.ended).toEqual([one.facts.id])
  })

  it('took back while nothing was heard end here as soon as something is, whether anybody uses them or not', async () => {
    const { here, there, heard, line } = await twoProcesses()
    const { token, facts } = await here.tokens.create({ agent: 'worker' })
    await heard()
    line.cutOff()
    await here.tokens.revoke(facts.id)
    const late = await here.tokens.create({ agent: 'late' })
    line.fix()
    await heard()
    expect([there.tokens.verify(token), there.ended, there.tokens.isFresh()]).toEqual([undefined, [facts.id], true])
    expect(there.tokens.verify(late.token)?.agent).toBe('late')
  })

  it('has just changed are read before they count, however long that takes', async () => {
    const { here, there, heard, line } = await twoProcesses()
    const { token, facts } = await here.tokens.create({ agent: 'worker' })
    await heard()
    const { find } = line.store
    const slow = deferred<void>()
    Object.assign(line.store, { find: (...args: Parameters<typeof find>) => slow.promise.then(() => find(...args)) })
    await here.tokens.revoke(facts.id)
    await heard()
    expect(there.tokens.isFresh()).toBe(false)
    slow.resolve()
    await heard()
    expect([there.tokens.isFresh(), there.tokens.verify(token)]).toEqual([true, undefined])
  })

  it('took back while nothing was heard do not count between the moment something is and the moment they are read', async () => {
    const { here, there, heard, line } = await twoProcesses()
    const { token, facts } = await here.tokens.create({ agent: 'worker' })
    await heard()
    line.cutOff()
    await here.tokens.revoke(facts.id)
    line.connect()
    expect([there.tokens.isFresh(), there.tokens.verify(token)?.agent]).toEqual([false, 'worker'])
    line.fix()
    await heard()
    expect([there.tokens.isFresh(), there.tokens.verify(token)]).toEqual([true, undefined])
  })

  it('may have changed are good for nobody while the store does not answer', async () => {
    const { here, there, heard, line, clock } = await twoProcesses()
    const { token, facts } = await here.tokens.create({ agent: 'worker' })
    await heard()
    const { find } = line.store
    const away = async () => Promise.reject(new AppError('STORE_UNAVAILABLE', 'It is away.'))
    Object.assign(line.store, { find: away })
    await here.tokens.revoke(facts.id)
    await heard()
    await expect(there.tokens.fresh(token)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    Object.assign(line.store, { find })
    await clock.advance(1_000)
    expect([there.tokens.isFresh(), there.tokens.verify(token)]).toEqual([true, undefined])
  })
})

describe('a token that ends here', () => {
  it('stays so whatever another process has just changed about it', async () => {
    const { here, there, heard } = await twoProcesses()
    const { token, facts } = await here.tokens.create({ agent: 'worker' })
    await heard()
    await Promise.all([
      there.tokens.revoke(facts.id),
      here.tokens.rotate(facts.id, { overlapMs: 60_000 }).catch(() => {}),
    ])
    await heard()
    expect([here.tokens.verify(token), there.tokens.verify(token)]).toEqual([undefined, undefined])
  })
})
