import { describe, expect, it } from 'vitest'
import { createIds, sha256 } from '../../adapters/system/index.ts'
import { AppError } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { faultyStorage } from '../../testing/faulty-storage.ts'
import type { Store } from '../store/index.ts'
import { createTokens, type Tokens } from './index.ts'

const DAY_MS = 86_400_000

function open() {
  const storage = faultyStorage()
  const clock = createFakeClock()
  const make = () => createTokens({ store: storage.store, clock, ids: createIds(), digest: sha256 })
  const tokens = make()
  /** The same tokens, as another start would find them. */
  const reopen = async () => {
    const again = make()
    await again.load()
    return again
  }
  return { storage, clock, tokens, reopen, told: toldBy(tokens) }
}

function toldBy(tokens: Tokens): string[] {
  const told: string[] = []
  tokens.onRevoked(id => told.push(id))
  return told
}

/** Holds back the answer to the next commit, which is written all the same. */
function holdNextAnswer(store: Store): () => void {
  const held = deferred()
  const { commit } = store
  Object.assign(store, {
    async commit(...given: Parameters<Store['commit']>) {
      Object.assign(store, { commit })
      const outcome = await commit(...given)
      await held.promise
      return outcome
    },
  })
  return held.resolve
}

describe('a token that is taken back', () => {
  it('stays so when it is being rotated meanwhile', async () => {
    const { storage, tokens, reopen } = open()
    const { token, facts } = await tokens.create({ agent: 'worker' })
    const answer = holdNextAnswer(storage.store)
    const rotating = tokens.rotate(facts.id, { overlapMs: 3_600_000 })
    await tokens.revoke(facts.id)
    answer()
    const fresh = await rotating
    expect([tokens.verify(token), tokens.verify(fresh.token)?.agent]).toEqual([undefined, 'worker'])
    expect(tokens.list('default').find(({ id }) => id === facts.id)).toMatchObject({
      state: 'revoked',
      replacedBy: fresh.facts.id,
    })
    expect((await reopen()).verify(token)).toBeUndefined()
  })

  it('ends here at once when that cannot be stored, and is stored by the next try', async () => {
    const { storage, tokens, told, reopen } = open()
    const { token, facts } = await tokens.create({ agent: 'worker' })
    storage.fault = () => ({ error: new AppError('STORE_UNAVAILABLE', 'The disk is full.') })
    await expect(tokens.revoke(facts.id)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect([tokens.verify(token), told]).toEqual([undefined, [facts.id]])
    storage.fault = () => undefined
    expect(await tokens.revoke(facts.id)).toMatchObject({ state: 'revoked' })
    expect([(await reopen()).verify(token), told]).toEqual([undefined, [facts.id]])
  })
})

describe('a token whose time is over', () => {
  it('ends what it has open, once', async () => {
    const { tokens, clock, told } = open()
    const { facts } = await tokens.create({ agent: 'worker', ttlMs: 90_000 })
    await tokens.create({ agent: 'worker' })
    await clock.advance(89_999)
    expect(told).toEqual([])
    await clock.advance(1)
    expect(told).toEqual([facts.id])
    await clock.advance(DAY_MS)
    expect(told).toEqual([facts.id])
  })

  it('does so also after a restart, and however far away that time was', async () => {
    const { tokens, clock, reopen } = open()
    const { facts } = await tokens.create({ agent: 'worker', ttlMs: 30 * DAY_MS })
    await tokens.create({ agent: 'worker', ttlMs: 1 })
    await clock.advance(DAY_MS)
    const told = toldBy(await reopen())
    await clock.advance(29 * DAY_MS)
    expect(told).toEqual([facts.id])
  })

  it('does so when the overlap with its successor is over', async () => {
    const { tokens, clock, told } = open()
    const { facts } = await tokens.create({ agent: 'worker', ttlMs: DAY_MS })
    await tokens.rotate(facts.id, { overlapMs: 600_000 })
    await clock.advance(600_000)
    expect(told).toEqual([facts.id])
  })

  it('has nothing left to end when it was taken back before', async () => {
    const { tokens, clock, told } = open()
    const { facts } = await tokens.create({ agent: 'worker', ttlMs: 60_000 })
    await tokens.revoke(facts.id)
    await clock.advance(DAY_MS)
    expect(told).toEqual([facts.id])
  })
})
