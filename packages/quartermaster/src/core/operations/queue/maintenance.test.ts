import { describe, expect, it } from 'vitest'
import { createIds } from '../../../adapters/system/index.ts'
import { DEFAULT_SETTINGS, type GrantRow, type NewRow } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { memoryStorage } from '../../../testing/memory-store.ts'
import { operation } from '../../../testing/store-contract/stage.ts'
import { createEmitter } from '../../kernel/index.ts'
import { insert } from '../../store/index.ts'
import { consentWrites } from '../consent/requests.ts'
import { GRANT_GUARD } from '../record/operation-storage.ts'
import { createMaintenance } from './maintenance.ts'

const grant = (more: Partial<NewRow<'grants'>>): NewRow<'grants'> => ({
  id: 'grant_1',
  workspace: 'ada',
  organisation: 'default',
  callerKind: 'agent',
  callerName: 'ada',
  operation: 'files.delete',
  scope: null,
  decision: 'allow',
  lasting: 'time',
  grantedBy: 'the owner',
  via: 'owner',
  createdAt: 1,
  expiresAt: 100,
  ...more,
})

describe('the commit that leases a run', () => {
  it.each(['time', 'once'] as const)('is refused when what allows it has run out meanwhile (%s)', async lasting => {
    const { store } = memoryStorage()
    await store.commit([insert('grants', grant({ lasting, askedFor: 'op_1' }))])
    const grants = (await store.find('grants', {})) as readonly GrantRow[]
    const refused = { committed: false, failed: { guard: GRANT_GUARD } }
    expect(await store.commit(consentWrites(grants, 'op_1', 100))).toMatchObject(refused)
    expect(await store.commit(consentWrites(grants, 'op_1', 99))).toMatchObject({ committed: true })
  })
})

describe('an expired lease', () => {
  it('is not reclaimed from a run that goes on here', async () => {
    const { store } = memoryStorage()
    const leased = { state: 'leased', leaseOwner: 'other', leaseUntil: 1, fence: 2 } as const
    await store.commit([
      insert('operations', operation('mine', leased)),
      insert('operations', operation('lost', leased)),
    ])
    const maintain = createMaintenance({
      clock: createFakeClock(),
      ids: createIds(),
      random: () => 0.5,
      emitter: createEmitter({ onError: () => {} }),
      settings: DEFAULT_SETTINGS,
      failureVerifier: { resultOf: async () => undefined },
      isReady: () => true,
      isVoid: () => false,
      isRunning: id => id === 'mine',
      cannotRunHere: () => false,
    })
    await maintain(store, () => false)
    expect(await store.get('operations', 'mine')).toMatchObject(leased)
    expect(await store.get('operations', 'lost')).toMatchObject({ state: 'unknown' })
  })
})
