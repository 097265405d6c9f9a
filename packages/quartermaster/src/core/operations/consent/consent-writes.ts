import type { GrantRow } from '../../../contracts/index.ts'
import { mustExist, update, type Write } from '../../store/index.ts'
import { GRANT_GUARD } from '../record/grant-guard.ts'

/**
 * What the commit that leases a run has to hold about the grants it runs on: those for one call are used up by it, and the
 * others are still there. So nobody can take one back, or use it, in between.
 */
export function consentWrites(grants: readonly GrantRow[], operationId: string, now: number): readonly Write[] {
  return grants.map(({ id, lasting, usedBy }) => {
    const live = { id, revokedAt: null, expiresAt: { above: now } }
    if (lasting !== 'once' || usedBy === operationId) return mustExist('grants', live, GRANT_GUARD)
    const set = { usedBy: operationId, usedAt: now }
    return update('grants', { where: { ...live, usedBy: null }, set, guard: GRANT_GUARD })
  })
}
