import { describe, expect, it } from 'vitest'
import { createIds } from '../../../adapters/system/index.ts'
import { DEFAULT_SETTINGS, type NewRow, type OperationChange } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createMemoryStore } from '../../../testing/memory-store.ts'
import { operation } from '../../../testing/store-contract/stage.ts'
import { insert } from '../../store/index.ts'
import { recoverAfterCrash } from '../index.ts'

const DAY_MS = 86_400_000

async function restarted(rows: readonly NewRow<'operations'>[]) {
  const store = createMemoryStore()
  const clock = createFakeClock()
  await store.commit(rows.map(row => insert('operations', row)))
  const changes: OperationChange[] = []
  const parts = { clock, ids: createIds(), random: () => 0.5, settings: DEFAULT_SETTINGS }
  const finish = () => recoverAfterCrash({ store, ...parts, onChange: change => changes.push(change) })
  return { store, clock, finish, changes }
}

const leased = { state: 'leased', leaseOwner: 'gone', leaseUntil: 9_000_000_000_000, fence: 1 } as const

describe('what a process was running when it was killed', () => {
  it('has an unknown outcome when it may have changed something, and an audit line that says so', async () => {
    const row = operation('op_1', { ...leased, arguments: 's1.x.y' })
    const { store, clock, finish } = await restarted([row])
    expect(await finish()).toEqual({ again: 0, inDoubt: 1, over: 0, orphans: 0 })
    expect(await store.get('operations', 'op_1')).toMatchObject({
      state: 'unknown',
      outcome: 'unknown',
      error: { code: 'OUTCOME_UNKNOWN', retry: 'verifyFirst' },
      // Kept, sealed, for the person who may want it done again.
      arguments: 's1.x.y',
      leaseOwner: null,
      endedAt: clock.now(),
      keepUntil: clock.now() + 30 * DAY_MS,
    })
    expect(await store.find('audit', {})).toMatchObject([
      { operationId: 'op_1', decision: 'allowed', outcome: 'unknown', code: 'OUTCOME_UNKNOWN' },
    ])
  })

  it('is looked at once more when its last run was lost and it says what it leaves behind', async () => {
    const effects = [{ name: 'file', kind: 'fileWritten', before: 'absent' } as const]
    const last = { ...leased, retry: 'verifyFirst', attempts: 6, startedAt: createFakeClock().now() } as const
    const rows = [
      operation('looked', { ...last, effects, sealedEffects: 's1.x.y' }),
      // As an older store has them.
      operation('older', { ...last, sealedEffects: '[{"name":"file"}]' }),
      operation('blind', last),
    ]
    const { store, finish } = await restarted(rows)
    await finish()
    for (const id of ['looked', 'older'])
      expect(await store.get('operations', id)).toMatchObject({
        state: 'queued',
        outcome: 'unknown',
        attempts: 6,
        error: { message: expect.stringContaining(`quartermaster operations verify ${id}`) },
      })
    expect(await store.get('operations', 'blind')).toMatchObject({ state: 'exhausted', outcome: 'unknown' })
  })

  it('has failed and can be called again when it changes nothing', async () => {
    const row = operation('op_1', { ...leased, mutates: false, createdAt: 1_000, ttlMs: 60_000 })
    const { store, clock, finish } = await restarted([row])
    await finish()
    expect(await store.get('operations', 'op_1')).toMatchObject({
      state: 'failed',
      outcome: 'failed',
      error: { code: 'STOPPING', retry: 'later' },
      keepUntil: clock.now() + 60_000,
    })
  })

  it('is announced like every other change', async () => {
    const rows = [
      operation('op_1', { ...leased, tool: 'send' }),
      operation('op_2', { ...leased, retry: 'replay', attempts: 1, startedAt: createFakeClock().now() }),
      operation('op_3', { state: 'waitingForApproval', parentId: 'op_1', expiresAt: 9_000_000_000_000 }),
    ]
    const { clock, finish, changes } = await restarted(rows)
    expect(await finish()).toEqual({ again: 1, inDoubt: 1, over: 0, orphans: 1 })
    const at = clock.now()
    expect(changes).toMatchObject([
      { id: 'op_3', from: 'waitingForApproval', to: 'cancelled', at, isTold: false },
      { id: 'op_1', tool: 'send', from: 'leased', to: 'unknown', at, isTold: false },
      { id: 'op_2', from: 'leased', to: 'queued', at, isTold: false },
    ])
    await finish()
    expect(changes).toHaveLength(3)
  })

  it('is settled once, however much it is, and nothing else is touched', async () => {
    const rows = Array.from({ length: 450 }, (_, i) => operation(`op_${i}`, leased))
    const { store, finish } = await restarted([...rows, operation('waiting'), operation('done', { state: 'failed' })])
    expect(await finish()).toEqual({ again: 0, inDoubt: 450, over: 0, orphans: 0 })
    expect(await finish()).toEqual({ again: 0, inDoubt: 0, over: 0, orphans: 0 })
    expect(await store.count('operations', { state: 'unknown' })).toBe(450)
    expect(await store.count('operations', { state: 'queued' })).toBe(1)
    expect(await store.count('audit')).toBe(450)
  })
})

describe('what a process runs that is still there', () => {
  it('is left to it by one that starts', async () => {
    const store = createMemoryStore()
    const rows = ['lives', 'gone'].map(owner => operation(`of_${owner}`, { ...leased, leaseOwner: owner }))
    await store.commit(rows.map(row => insert('operations', row)))
    const parts = { clock: createFakeClock(), ids: createIds(), random: () => 0.5, settings: DEFAULT_SETTINGS }
    const finish = () => recoverAfterCrash({ store, ...parts, running: async () => new Set(['lives']) })
    // Two that start at the same moment settle it once.
    const counts = await Promise.all([finish(), finish()])
    expect(counts.reduce((sum, { inDoubt }) => sum + inDoubt, 0)).toBe(1)
    expect((await store.get('operations', 'of_lives'))?.state).toBe('leased')
    expect((await store.get('operations', 'of_gone'))?.state).toBe('unknown')
    expect(await store.count('audit')).toBe(1)
  })

  it('is left to it also when it has begun since others were looked for', async () => {
    const store = createMemoryStore()
    const running = new Set<string>()
    const { find } = store
    const begins = async (...args: Parameters<typeof find>) => {
      if (!running.has('late')) {
        running.add('late')
        await store.commit([insert('operations', operation('of_late', { ...leased, leaseOwner: 'late' }))])
      }
      return find(...args)
    }
    Object.assign(store, { find: begins })
    const parts = { clock: createFakeClock(), ids: createIds(), random: () => 0.5, settings: DEFAULT_SETTINGS }
    await recoverAfterCrash({ store, ...parts, running: async () => new Set(running) })
    expect((await store.get('operations', 'of_late'))?.state).toBe('leased')
  })
})
