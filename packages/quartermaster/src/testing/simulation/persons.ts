import type { OperationRow } from '../../contracts/index.ts'
import type { Store } from '../../core/store/index.ts'
import type { Hub } from '../hub.ts'
import type { Happened } from './history.ts'
import type { Seeded } from './seeded.ts'

/** What persons do, at any process. That they are told no is nothing unusual. */
export interface Persons {
  answer(hub: Hub): Promise<void>
  revoke(hub: Hub): Promise<void>
  cancel(hub: Hub): Promise<void>
  retry(hub: Hub): Promise<void>
  verify(hub: Hub): Promise<void>
  drop(hub: Hub): Promise<void>
}

export interface PersonsDeps {
  readonly random: Seeded
  readonly store: Store
  note(one: Happened): void
}

const OWNER = { name: 'owner', via: 'owner' } as const
const IN_DOUBT = ['exhausted', 'expired', 'unknown'] as const

export function createPersons({ random, store, note }: PersonsDeps): Persons {
  async function pick(states: readonly OperationRow['state'][]): Promise<OperationRow | undefined> {
    const rows = await store.find('operations', { where: { state: { in: states } } })
    return rows.length > 0 ? random.pick(rows) : undefined
  }

  async function revoke(hub: Hub): Promise<void> {
    await hub.consentServices('default').revoke({ agent: 'ada' }, OWNER).catch(ignore)
  }

  /** In the middle of what was allowed. */
  async function thinkBetter(hub: Hub): Promise<void> {
    for (let i = random.below(6); i > 0; i--) await hub.clock.breathe()
    await revoke(hub)
  }

  return {
    async answer(hub) {
      const open = await store.find('approvals', { where: { state: 'open' } })
      if (open.length === 0) return
      const { id } = random.pick(open)
      const decision = random.chance(0.75) ? ('allow' as const) : ('deny' as const)
      const lasting = random.pick(
        decision === 'allow' ? (['once', 'time'] as const) : (['once', 'once', 'time'] as const),
      )
      // Some run out before the next try of what they allow.
      const minutes = random.pick([0.05, 5])
      await hub.consentServices('default').answer(id, { decision, lasting, minutes }, OWNER).catch(ignore)
      if (decision === 'allow' && random.chance(lasting === 'once' ? 0.5 : 0.2)) await thinkBetter(hub)
    },
    revoke,
    async cancel(hub) {
      const row = await pick(['queued', 'waitingForApproval', 'leased'])
      if (row) await hub.operationAdmin.cancel(row.id).catch(ignore)
    },
    async retry(hub) {
      const row = await pick([...IN_DOUBT, 'queued'])
      if (!row) return
      note({ kind: 'wanted', operation: row.id, what: 'retry' })
      await hub.operationAdmin.retry(row.id).catch(ignore)
    },
    async verify(hub) {
      const row = await pick([...IN_DOUBT, 'queued'])
      if (!row) return
      note({ kind: 'wanted', operation: row.id, what: 'verify' })
      await hub.operationAdmin.verify(row.id).catch(ignore)
    },
    async drop(hub) {
      const row = await pick(IN_DOUBT)
      if (row) await hub.operationAdmin.drop(row.id).catch(ignore)
    },
  }
}

function ignore(): void {
  // Whoever wanted it tries again, or not.
}
