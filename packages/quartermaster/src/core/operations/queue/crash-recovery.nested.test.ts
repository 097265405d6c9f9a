import { describe, expect, it } from 'vitest'
import { createIds } from '../../../adapters/system/index.ts'
import { DEFAULT_SETTINGS, type NewRow } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createMemoryStore } from '../../../testing/memory-store.ts'
import { operation } from '../../../testing/store-contract/stage.ts'
import { insert } from '../../store/index.ts'
import { recoverAfterCrash } from '../index.ts'

const EXPIRES = { expiresAt: 9_000_000_000_000 } as const
const NESTED = { ...EXPIRES, parentId: 'outer', arguments: 's1.x.y' } as const

async function restarted(rows: readonly NewRow<'operations'>[]) {
  const store = createMemoryStore()
  await store.commit(rows.map(row => insert('operations', row)))
  const parts = { clock: createFakeClock(), ids: createIds(), random: () => 0.5, settings: DEFAULT_SETTINGS }
  await recoverAfterCrash({ store, ...parts })
  const stateOf = async (id: string) => (await store.get('operations', id))?.state
  return { store, stateOf }
}

describe('a call inside another one that had not run when its process was killed', () => {
  it.each([
    ['waited for a person', 'waitingForApproval'],
    ['was allowed', 'queued'],
  ] as const)('is over, if it %s, since the tool around it is gone', async (_what, state) => {
    const { store } = await restarted([operation('inner', { ...NESTED, state })])
    expect(await store.get('operations', 'inner')).toMatchObject({
      state: 'cancelled',
      error: { code: 'CANCELLED' },
      arguments: null,
      expiresAt: null,
    })
    expect(await store.find('audit', {})).toMatchObject([
      { operationId: 'inner', decision: 'refused', outcome: 'notRun', code: 'CANCELLED' },
    ])
  })

  it('asks no person any more', async () => {
    const inner = operation('inner', { ...NESTED, state: 'waitingForApproval' })
    const { id, organisation, workspace, callerKind, callerName, tool, definitionHash, digest } = inner
    const whose = { id, organisation, workspace, callerKind, callerName, tool, definitionHash, digest }
    const store = createMemoryStore()
    await store.commit([
      insert('operations', inner),
      insert('approvals', { ...whose, ...EXPIRES, asks: [], state: 'open', createdAt: 1 }),
    ])
    const parts = { clock: createFakeClock(), ids: createIds(), random: () => 0.5, settings: DEFAULT_SETTINGS }
    await recoverAfterCrash({ store, ...parts })
    expect(await store.get('approvals', 'inner')).toMatchObject({ state: 'closed' })
  })

  it('is over however many there are, and nothing else is touched', async () => {
    const { store, stateOf } = await restarted([
      ...Array.from({ length: 250 }, (_, i) => operation(`inner_${i}`, { ...NESTED, state: 'waitingForApproval' })),
      operation('own', { ...EXPIRES, state: 'waitingForApproval' }),
      // A person wants this one done once more.
      operation('wanted', { ...NESTED, outcome: 'unknown' }),
    ])
    expect(await store.count('operations', { state: 'cancelled' })).toBe(250)
    expect([await stateOf('own'), await stateOf('wanted')]).toEqual(['waitingForApproval', 'queued'])
  })
})

describe('a call inside another one that waits in a process that runs', () => {
  it('is left to it', async () => {
    const store = createMemoryStore()
    const nested = { ...NESTED, state: 'waitingForApproval' } as const
    await store.commit([
      insert('operations', operation('kept', { ...nested, node: 'lives' })),
      insert('operations', operation('orphan', { ...nested, node: 'gone' })),
    ])
    const parts = { clock: createFakeClock(), ids: createIds(), random: () => 0.5, settings: DEFAULT_SETTINGS }
    const { orphans } = await recoverAfterCrash({ store, ...parts, running: async () => new Set(['lives']) })
    const states = (await store.find('operations', { order: { by: ['id'] } })).map(({ id, state }) => [id, state])
    expect([orphans, states]).toEqual([
      1,
      [
        ['kept', 'waitingForApproval'],
        ['orphan', 'cancelled'],
      ],
    ])
  })
})
