import type { OperationRow } from '../../../contracts/index.ts'
import type { Clock } from '../../kernel/index.ts'
import { type Store, update, type Write } from '../../store/index.ts'

type Untold = Pick<OperationRow, 'id' | 'tellAt'>

/** That its end was told. Whoever comes second changes nothing, and neither does it where it has ended otherwise since. */
export function toldWrite({ id, tellAt }: Untold, now: number): Write {
  const set = { announcedAt: Math.round(now), tellAt: null }
  return update('operations', { where: { id, tellAt: tellAt ?? { not: null } }, set, rows: 'any' })
}

/** Whoever asked for it has looked at its end: nobody need tell it any more. */
export async function markSeen(store: Store, row: Untold, clock: Pick<Clock, 'now'>): Promise<void> {
  // Where the mark cannot be set it is told once more, which is better than an answer that fails for it.
  if (row.tellAt !== null) await store.commit([toldWrite(row, clock.now())]).catch(() => {})
}
