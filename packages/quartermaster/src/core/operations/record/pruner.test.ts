import { describe, expect, it } from 'vitest'
import { silentLog } from '../../../adapters/system/index.ts'
import { AppError } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { faultyStorage } from '../../../testing/faulty-storage.ts'
import { auditLine, operation } from '../../../testing/store-contract/stage.ts'
import { insert } from '../../store/index.ts'
import { createPruner } from '../index.ts'
import { resultWrites } from './stored-results.ts'

const DAY_MS = 86_400_000

function desk() {
  const storage = faultyStorage()
  const clock = createFakeClock()
  const pruner = createPruner({ store: storage.store, clock, log: silentLog, settings: { auditDays: 90 } })
  return { storage, store: storage.store, clock, pruner, now: clock.now() }
}

describe('forgetting', () => {
  it('takes what has ended and was kept long enough, however much it is', async () => {
    const { store, pruner, now } = desk()
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

  it('takes the results of what it takes, and no others', async () => {
    const { store, pruner, now } = desk()
    const ended = (id: string, keepUntil: number) => [
      insert('operations', operation(id, { state: 'succeeded', endedAt: 5, keepUntil })),
      ...resultWrites({ id, caller: { kind: 'agent', name: 'ada', workspace: 'ada' } }, [
        { text: 'a', offset: 0, nextOffset: 1, totalBytes: 2 },
        { text: 'b', offset: 1, totalBytes: 2 },
      ]),
    ]
    await store.commit([...ended('old', now - 1), ...ended('new', now)])
    expect(await pruner.prune()).toBe(1)
    expect(await store.find('results', { columns: ['id'] })).toEqual([{ id: 'new.0' }, { id: 'new.1' }])
  })

  it('happens at the start and every hour, also after it failed', async () => {
    const { storage, store, clock, pruner, now } = desk()
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

  it('ends with the batch it is at', async () => {
    const { storage, store, clock, pruner, now } = desk()
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
