import { AppError, type OperationChange, type OperationRow, type Settings } from '../../../contracts/index.ts'
import type { Clock, Ids } from '../../kernel/index.ts'
import { insert, type Store } from '../../store/index.ts'
import { auditRow } from '../record/audit-row.ts'
import { endTerms } from '../record/keep-until.ts'
import { ended, type Step } from '../record/transitions.ts'
import { auditOfRow } from '../record/waited-audit.ts'

export interface OrphansDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly settings: Pick<Settings, 'operationDays'>
  /** Told of each change once it is on record. */
  readonly onChange?: ((change: OperationChange) => void) | undefined
}

const PAGE = 200

/**
 * Ends calls from inside other ones that had not run when the process of both went away. The tool around them is gone or begins
 * anew, and asks anew: whoever allowed the old one too would have it done twice. One that has run before is a person's to
 * repeat. Answers how many there were.
 */
export async function endOrphans(deps: OrphansDeps): Promise<number> {
  const state = { in: ['waitingForApproval', 'queued'] as const }
  // By the index of expiry: everything that waits has one.
  const where = { state, expiresAt: { not: null }, parentId: { not: null }, outcome: null }
  for (let count = 0; ; ) {
    const rows = await deps.store.find('operations', { where, limit: PAGE })
    const steps = rows.map(row => endOf(row, deps))
    if (steps.length > 0) await deps.store.commit(steps.flatMap(({ writes }) => writes))
    for (const { change } of steps) deps.onChange?.(change)
    count += rows.length
    if (rows.length < PAGE) return count
  }
}

function endOf(row: OperationRow, { clock, ids, settings }: OrphansDeps): Step {
  const now = Math.round(clock.now())
  const message = `"${row.tool}" was not run: Quartermaster ended, and with it the tool that had called it.`
  const error = new AppError('CANCELLED', message).toJSON()
  const end = { state: 'cancelled', outcome: undefined, result: undefined, error, isTold: false } as const
  const { writes, change } = ended(row, end, endTerms(now, row, settings))
  const line = auditOfRow(row, { at: now, outcome: 'notRun', code: error.code })
  return { writes: [...writes, insert('audit', auditRow(ids.next('audit'), line))], change }
}
