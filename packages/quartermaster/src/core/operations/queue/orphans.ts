import { AppError, type OperationRow, type Settings } from '../../../contracts/index.ts'
import type { Clock, Ids } from '../../kernel/index.ts'
import { insert, type Store, type Write } from '../../store/index.ts'
import { auditRow } from '../record/audit-row.ts'
import { ended } from '../record/transitions.ts'
import { auditOfRow } from '../record/waited-audit.ts'

export interface OrphansDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly settings: Pick<Settings, 'operationDays'>
}

const PAGE = 200
const DAY_MS = 24 * 3_600_000

/**
 * Ends calls from inside other ones that had not run when the process of both went away. The tool around them is gone or begins
 * anew, and asks anew: whoever allowed the old one too would have it done twice. One that has run before is a person's to
 * repeat.
 */
export async function endOrphans(deps: OrphansDeps): Promise<void> {
  const state = { in: ['waitingForApproval', 'queued'] as const }
  // By the index of expiry: everything that waits has one.
  const where = { state, expiresAt: { not: null }, parentId: { not: null }, outcome: null }
  for (;;) {
    const rows = await deps.store.find('operations', { where, limit: PAGE })
    if (rows.length > 0) await deps.store.commit(rows.flatMap(row => endOf(row, deps)))
    if (rows.length < PAGE) return
  }
}

function endOf(row: OperationRow, { clock, ids, settings }: OrphansDeps): Write[] {
  const now = Math.round(clock.now())
  const message = `"${row.tool}" was not run: Quartermaster ended, and with it the tool that had called it.`
  const error = new AppError('CANCELLED', message).toJSON()
  const end = { state: 'cancelled', outcome: undefined, result: undefined, error, isTold: false } as const
  const { writes } = ended(row, end, { now, keepMs: row.ttlMs ?? settings.operationDays * DAY_MS })
  const line = auditOfRow(row, { at: now, outcome: 'notRun', code: error.code })
  return [...writes, insert('audit', auditRow(ids.next('audit'), line))]
}
