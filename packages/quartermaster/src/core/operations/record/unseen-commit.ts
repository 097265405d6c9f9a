import { isAppError, type OperationRow } from '../../../contracts/index.ts'
import type { Store, Write } from '../../store/index.ts'
import type { Taken } from './transitions.ts'

/** Whether a commit may have happened, and nobody saw it. */
export function isUnseen(error: unknown): boolean {
  return isAppError(error) && error.code === 'OUTCOME_UNKNOWN'
}

/**
 * Commits the lease of an operation, with what has to be true for it; answers whether it was got. Where nobody saw the end of
 * the commit the row tells: a lease that is held here and that nobody runs would pass for a run that was cut off.
 */
export async function commitLease(
  store: Store,
  { writes, after }: Pick<Taken, 'writes' | 'after'>,
  { id, more }: { readonly id: string; readonly more: readonly Write[] },
): Promise<boolean> {
  try {
    return (await store.commit([...writes, ...more])).committed
  } catch (error) {
    if (!isUnseen(error)) throw error
    return isLeasedAs(await store.get('operations', id), after)
  }
}

/** The fence grows with each lease, so that no two are the same. */
function isLeasedAs(row: OperationRow | undefined, { leaseOwner, fence }: Taken['after']): boolean {
  return row?.state === 'leased' && row.leaseOwner === leaseOwner && row.fence === fence
}
