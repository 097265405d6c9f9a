import { describe, expect, it } from 'vitest'
import { silentLog } from '../../../adapters/system/index.ts'
import { AppError, DEFAULT_SETTINGS } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { faultyStorage } from '../../../testing/faulty-storage.ts'
import { auditLine, operation } from '../../../testing/store-contract/stage.ts'
import { insert, update } from '../../store/index.ts'
import { createKeptResults, createPruner } from '../index.ts'

const DAY_MS = 86_400_000
const ADA = { kind: 'agent', organisation: 'default', name: 'ada', workspace: 'ada' } as const

/** The stored result of an operation, one page for each text. */
function storedResult(id: string, texts: readonly string[], createdAt: number) {
  const bytes = texts.map(text => new TextEncoder().encode(text).length)
  const totalBytes = bytes.reduce((sum, one) => sum + one, 0)
  return texts.map((text, i) => {
    const offset = bytes.slice(0, i).reduce((sum, one) => sum + one, 0)
    const more = i + 1 < texts.length ? { nextOffset: offset + (bytes[i] ?? 0) } : {}
    return insert('results', {
      ...{ id: `${id}.${offset}`, operationId: id, organisation: 'default', workspace: 'ada' },
      ...{ callerKind: 'agent', callerName: 'ada', createdAt, offset },
      page: { text, offset, totalBytes, ...more },
      wholeBytes: offset === 0 ? totalBytes : null,
    })
  })
}

function fixture() {
  const storage = faultyStorage()
  const clock = createFakeClock()
  const pruner = createPruner({
    store: storage.store,
    clock,
    log: silentLog,
    settings: { storedResultsBytes: 10, auditDays: 90 },
  })
  return { storage, store: storage.store, clock, pruner, now: clock.now() }
}

describe('pruning', () => {
  it('deletes operations that ended and were kept long enough, however many', async () => {
    const { store, pruner, now } = fixture()
    const old = Array.from({ length: 1_200 }, (_, i) =>
      insert('operations', operation(`old_${i}`, { state: 'failed', endedAt: 5, keepUntil: now - 1 })),
    )
    await store.commit(old)
    await store.commit([
      insert('operations', operation('kept', { state: 'failed', endedAt: 5, keepUntil: now })),
      insert('operations', operation('runs', { state: 'leased', keepUntil: now - 1 })),
      insert('audit', auditLine('old', { at: now - 90 * DAY_MS - 1 })),
      insert('audit', auditLine('new', { at: now - 90 * DAY_MS })),
    ])
    expect(await pruner.prune()).toBe(1_201)
    expect(await store.find('operations', { columns: ['id'] })).toEqual([{ id: 'kept' }, { id: 'runs' }])
    expect(await store.find('audit', { columns: ['id'] })).toEqual([{ id: 'new' }])
  })

  it('deletes the results of deleted operations, and no others', async () => {
    const { store, pruner, now } = fixture()
    const ended = (id: string, keepUntil: number) => [
      insert('operations', operation(id, { state: 'succeeded', endedAt: 5, keepUntil })),
      ...storedResult(id, ['a', 'b'], 5),
    ]
    await store.commit([...ended('old', now - 1), ...ended('new', now)])
    expect(await pruner.prune()).toBe(1)
    expect(await store.find('results', { columns: ['id'] })).toEqual([{ id: 'new.0' }, { id: 'new.1' }])
  })

  it('keeps undelivered results for another month, except those of tasks', async () => {
    const { store, pruner, clock, now } = fixture()
    const old = { state: 'exhausted', endedAt: 5, keepUntil: now - 1 } as const
    await store.commit([
      insert('operations', operation('untold', { ...old, tellAt: 5 })),
      insert('operations', operation('told', { ...old, announcedAt: 5 })),
      insert('operations', operation('task', { ...old, tellAt: 5, ttlMs: 5 })),
    ])
    expect(await pruner.prune()).toBe(2)
    expect(await store.find('operations', { columns: ['id'] })).toEqual([{ id: 'untold' }])
    await clock.advance(30 * DAY_MS)
    expect(await pruner.prune()).toBe(1)
  })

  it('keeps an operation that a person retries at that moment, with its result, and deletes all others', async () => {
    const { storage, store, pruner, now } = fixture()
    const ended = (id: string) => [
      insert('operations', operation(id, { state: 'exhausted', endedAt: 5, keepUntil: now - 1 })),
      ...storedResult(id, ['a'], 5),
    ]
    await store.commit([...ended('a'), ...ended('b'), ...ended('c')])
    let isNext = true
    storage.fault = async () => {
      const again = { state: 'queued', endedAt: null, keepUntil: null } as const
      if (!isNext) return undefined
      isNext = false
      await store.commit([update('operations', { where: { id: 'b' }, set: again })])
      return undefined
    }
    expect(await pruner.prune()).toBe(2)
    expect(await store.find('operations', { columns: ['id', 'state'] })).toEqual([{ id: 'b', state: 'queued' }])
    expect(await store.find('results', { columns: ['id'] })).toEqual([{ id: 'b.0' }])
  })

  it('deletes old audit lines of every organisation', async () => {
    const { store, pruner, now } = fixture()
    const lines = ['acme', 'default', 'zeta'].flatMap(organisation => [
      auditLine(`${organisation}-old`, { organisation, at: now - 91 * DAY_MS }),
      auditLine(`${organisation}-new`, { organisation, at: now }),
    ])
    await store.commit(lines.map(line => insert('audit', line)))
    expect(await pruner.prune()).toBe(3)
    const left = await store.find('audit', { columns: ['id'], order: { by: ['id'] } })
    expect(left.map(({ id }) => id)).toEqual(['acme-new', 'default-new', 'zeta-new'])
  })

  it('drops the oldest results within a minute when all together exceed the limit', async () => {
    const { storage, store, clock, pruner, now } = fixture()
    const results = createKeptResults({ clock, storage, settings: DEFAULT_SETTINGS })
    // Four bytes each: two of them fit.
    const ended = (id: string, at: number) => [
      insert('operations', operation(id, { state: 'succeeded', endedAt: at, keepUntil: now * 2 })),
      ...storedResult(id, ['ä', 'ü'], at),
    ]
    const page = (resultId: string) =>
      results.page(ADA, resultId, 2).then(
        ({ text }) => text,
        ({ message }) => (message.includes('was dropped to make room') ? 'dropped' : undefined),
      )
    await store.commit([...ended('c', 3), ...ended('a', 1), ...ended('b', 2)])
    pruner.start()
    await clock.advance(1)
    expect(await Promise.all(['a', 'b', 'c'].map(page))).toEqual(['dropped', 'ü', 'ü'])
    await store.commit(ended('d', 4))
    await clock.advance(60_000)
    expect(await Promise.all(['a', 'b', 'c', 'd', 'none'].map(page))).toEqual([
      'dropped',
      'dropped',
      'ü',
      'ü',
      undefined,
    ])
    expect(await store.count('operations')).toBe(4)
    expect(await store.count('results')).toBe(6)
    await pruner.stop()
  })

  it('drops many results a few at a time, the oldest first, and stops after the current ones', async () => {
    const { storage, store, clock, pruner, now } = fixture()
    for (let i = 0; i < 600; i++) await store.commit(storedResult(`op_${i}`, ['a'], now + i))
    let commits = 0
    const stopped = new Promise<Promise<void>>(resolve => {
      storage.fault = () => {
        if (++commits === 3) resolve(pruner.stop())
        return undefined
      }
    })
    pruner.start()
    await clock.advance(1)
    await stopped
    const kept = await store.find('results', {
      where: { wholeBytes: { not: null } },
      order: { by: ['createdAt', 'id'] },
      columns: ['id'],
      limit: 1,
    })
    expect(kept).toEqual([{ id: 'op_30.0' }])
  })

  it('deletes the requests of deleted operations, and grants that were invalid for as long as the audit is kept', async () => {
    const { store, pruner, now } = fixture()
    const old = now - 90 * DAY_MS - 1
    const caller = { workspace: 'ada', organisation: 'default', callerKind: 'agent', callerName: 'ada' } as const
    const ended = (id: string, keepUntil: number) => [
      insert('operations', operation(id, { state: 'denied', endedAt: 5, keepUntil })),
      insert('approvals', {
        ...{ id, ...caller, tool: 'send', definitionHash: 'h', digest: 'a'.repeat(64), asks: [] },
        ...{ state: 'denied', createdAt: 1, expiresAt: 2 },
      }),
    ]
    const grant = (id: string, more: { expiresAt: number; revokedAt?: number }) =>
      insert('grants', {
        ...{ id, ...caller, operation: 'mail.send', decision: 'allow', lasting: 'always', grantedBy: 'owner' },
        ...{ via: 'owner', createdAt: 1, ...more },
      })
    await store.commit([
      ...ended('op_old', now - 1),
      ...ended('op_new', now),
      grant('grant_expired', { expiresAt: old }),
      grant('grant_revoked', { expiresAt: now + 1, revokedAt: old }),
      grant('grant_just_expired', { expiresAt: old + 1 }),
      grant('grant_just_revoked', { expiresAt: now + 1, revokedAt: old + 1 }),
      grant('grant_live', { expiresAt: now + 1 }),
    ])
    expect(await pruner.prune()).toBe(3)
    expect(await store.find('approvals', { columns: ['id'] })).toEqual([{ id: 'op_new' }])
    const kept = ['grant_just_expired', 'grant_just_revoked', 'grant_live']
    expect((await store.find('grants', { columns: ['id'] })).map(({ id }) => id).toSorted()).toEqual(kept)
  })

  it('happens at the start and every hour, also after it failed', async () => {
    const { storage, store, clock, pruner, now } = fixture()
    const ended = (id: string, keepUntil: number) =>
      insert('operations', operation(id, { state: 'failed', endedAt: 5, keepUntil }))
    await store.commit([ended('a', now - 1), ended('b', now + 10)])
    storage.fault = () => ({ error: new AppError('INTERNAL', 'its disk is full') })
    pruner.start()
    await clock.advance(1)
    expect(await store.count('operations')).toBe(2)
    storage.fault = () => undefined
    await clock.advance(3_600_000)
    expect(await store.count('operations')).toBe(0)
    await store.commit([ended('c', now)])
    await clock.advance(3_600_000)
    expect(await store.count('operations')).toBe(0)
    await pruner.stop()
  })

  it('stops after the current batch', async () => {
    const { storage, store, clock, pruner, now } = fixture()
    const rows = Array.from({ length: 1_200 }, (_, i) =>
      insert('operations', operation(`old_${i}`, { state: 'failed', endedAt: 5, keepUntil: now - 1 })),
    )
    await store.commit(rows)
    let stopped: Promise<void> | undefined
    storage.fault = () => {
      stopped ??= pruner.stop()
      return undefined
    }
    pruner.start()
    await clock.advance(1)
    await stopped
    expect(await store.count('operations')).toBe(700)
  })
})
