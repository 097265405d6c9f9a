import { describe, expect, it, onTestFinished } from 'vitest'
import { openSqliteStore } from '../../adapters/storage-sqlite/index.ts'
import { createIds, sha256, silentLog } from '../../adapters/system/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { createTokens } from './index.ts'

async function open() {
  const { dir } = await tempProject()
  const store = await openSqliteStore({ dir, log: silentLog })
  onTestFinished(() => store.close())
  const clock = createFakeClock()
  const make = () => createTokens({ store, clock, ids: createIds(), digest: sha256 })
  const tokens = make()
  await tokens.load()
  /** The same tokens, as another start would find them. */
  const reopen = async () => {
    const again = make()
    await again.load()
    return again
  }
  return { tokens, store, clock, reopen }
}

describe('tokens', () => {
  it('stand for the agent they were made for, also after a restart', async () => {
    const { tokens, reopen } = await open()
    const { token, facts } = await tokens.create({ agent: 'worker', label: 'laptop' })
    expect(token).toMatch(/^qm_[\w-]{43}$/)
    expect(tokens.verify(token)).toEqual({ tokenId: facts.id, organisation: 'default', agent: 'worker' })
    expect((await reopen()).verify(token)).toEqual({ tokenId: facts.id, organisation: 'default', agent: 'worker' })
  })

  it('of persons stand for no agent, and their successors neither', async () => {
    const { tokens, reopen } = await open()
    await tokens.create({ agent: 'eve' })
    const { token, facts } = await tokens.create({ person: 'eve', label: 'phone' })
    expect(facts).toMatchObject({ person: 'eve', label: 'phone', state: 'active' })
    expect(facts).not.toHaveProperty('agent')
    const next = await tokens.rotate(facts.id, { overlapMs: 1_000 })
    for (const one of [tokens, await reopen()])
      for (const [text, tokenId] of [
        [token, facts.id],
        [next.token, next.facts.id],
      ] as const)
        expect(one.verify(text)).toStrictEqual({ tokenId, organisation: 'default', person: 'eve' })
    expect([tokens.list('default', 'eve').length, tokens.list('default').length]).toEqual([1, 3])
  })

  it('are kept as a hash, and their text nowhere', async () => {
    const { tokens, store } = await open()
    const { token, facts } = await tokens.create({ agent: 'worker' })
    const row = await store.get('tokens', facts.id)
    expect(row?.hash).toBe(sha256(token))
    expect(JSON.stringify(row)).not.toContain(token.slice(3))
    expect(JSON.stringify(tokens.list('default'))).not.toContain(token.slice(3))
  })

  it.each(['', 'qm_', 'qm_nonsense', 'Bearer x', '__proto__'])('let nobody in with %j', async text => {
    const { tokens } = await open()
    await tokens.create({ agent: 'worker' })
    expect(tokens.verify(text)).toBeUndefined()
  })

  it('end at once when they are taken back, and whoever holds something open is told', async () => {
    const { tokens, reopen } = await open()
    const { token, facts } = await tokens.create({ agent: 'worker' })
    const told: string[] = []
    tokens.onRevoked(id => told.push(id))
    expect(await tokens.revoke(facts.id)).toMatchObject({ state: 'revoked' })
    await tokens.revoke(facts.id)
    expect(told).toEqual([facts.id])
    expect(tokens.verify(token)).toBeUndefined()
    expect((await reopen()).verify(token)).toBeUndefined()
  })

  it('end when their time is over', async () => {
    const { tokens, clock } = await open()
    const { token } = await tokens.create({ agent: 'worker', ttlMs: 60_000 })
    expect(tokens.verify(token)).toBeDefined()
    await clock.advance(60_000)
    expect(tokens.verify(token)).toBeUndefined()
    expect(tokens.list('default')).toMatchObject([{ state: 'expired' }])
  })

  it('are rotated with an overlap in which both are good', async () => {
    const { tokens, clock } = await open()
    const old = await tokens.create({ agent: 'worker', label: 'laptop' })
    const fresh = await tokens.rotate(old.facts.id, { overlapMs: 3_600_000 })
    expect([tokens.verify(old.token)?.agent, tokens.verify(fresh.token)?.agent]).toEqual(['worker', 'worker'])
    await clock.advance(3_600_000)
    expect([tokens.verify(old.token), tokens.verify(fresh.token)?.agent]).toEqual([undefined, 'worker'])
    expect(tokens.list('default', 'worker')).toMatchObject([
      { replacedBy: fresh.facts.id, state: 'expired' },
      { label: 'laptop', state: 'active' },
    ])
  })

  it('are rotated once: the second of two is told to look again', async () => {
    const { tokens } = await open()
    const { facts } = await tokens.create({ agent: 'worker' })
    const both = await Promise.allSettled([
      tokens.rotate(facts.id, { overlapMs: 1 }),
      tokens.rotate(facts.id, { overlapMs: 1 }),
    ])
    expect(both.map(one => one.status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  it('that do not exist or have ended cannot be rotated', async () => {
    const { tokens } = await open()
    await expect(tokens.rotate('tok_x', { overlapMs: 1 })).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
    const { facts } = await tokens.create({ agent: 'worker' })
    await tokens.revoke(facts.id)
    await expect(tokens.rotate(facts.id, { overlapMs: 1 })).rejects.toMatchObject({ code: 'EDIT_CONFLICT' })
  })
})

describe('lent tokens', () => {
  const TTL = { ttlMs: 60_000 }

  it('stand for their agent in this process alone, and are neither stored nor listed', async () => {
    const { tokens, store, reopen } = await open()
    const { id, token, expiresAt } = tokens.lend('worker', TTL)
    expect(token).toMatch(/^qm_[\w-]{43}$/)
    expect(expiresAt).toBe(1_700_000_060_000)
    expect(tokens.verify(token)).toEqual({ tokenId: id, organisation: 'default', agent: 'worker' })
    expect([tokens.list('default'), await store.count('tokens'), tokens.lent().length]).toEqual([[], 0, 1])
    expect((await reopen()).verify(token)).toBeUndefined()
  })

  it('end by themselves, and whoever holds something open is told', async () => {
    const { tokens, clock } = await open()
    const told: string[] = []
    tokens.onRevoked(id => told.push(id))
    const { id, token } = tokens.lend('worker', TTL)
    await clock.advance(60_000)
    expect([tokens.verify(token), tokens.lent(), told]).toEqual([undefined, [], [id]])
    expect(() => tokens.extend(id, TTL)).toThrow(expect.objectContaining({ code: 'NAME_UNKNOWN' }))
  })

  it('stay good for whoever extends them', async () => {
    const { tokens, clock } = await open()
    const { id, token } = tokens.lend('worker', TTL)
    await clock.advance(40_000)
    expect(tokens.extend(id, TTL)).toBe(1_700_000_100_000)
    await clock.advance(59_999)
    expect(tokens.verify(token)?.agent).toBe('worker')
    await clock.advance(1)
    expect(tokens.verify(token)).toBeUndefined()
  })

  it('can be given back before their time', async () => {
    const { tokens, clock } = await open()
    const told: string[] = []
    tokens.onRevoked(id => told.push(id))
    const { id, token } = tokens.lend('worker', TTL)
    expect(await tokens.revoke(id)).toMatchObject({ id, agent: 'worker', state: 'revoked' })
    expect(tokens.verify(token)).toBeUndefined()
    await clock.advance(60_000)
    expect(told).toEqual([id])
  })
})
