import { AppError, type OperationChange, type OperationRow, type Settings } from '../../../contracts/index.ts'
import type { Clock, Ids } from '../../kernel/index.ts'
import { insert, type Store } from '../../store/index.ts'
import { auditRow } from '../record/audit-row.ts'
import { endTerms } from '../record/keep-until.ts'
import { ended, type Step } from '../record/transitions.ts'
import { auditOfRow } from '../record/waited-audit.ts'
import { each } from './each.ts'

export interface OrphansDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly settings: Pick<Settings, 'operationDays'>
  /** Told of each change once it is on record. */
  readonly onChange?: ((change: OperationChange) => void) | undefined
  /** The processes that run, and keep what they have; none when absent. */
  readonly running?: Running | undefined
}

/** Asked once what others have in hand is read: whoever has begun since then is among them, and what is theirs is not lost. */
export type Running = () => Promise<ReadonlySet<string>>

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
  const query = { where, order: { by: ['expiresAt', 'id'] as const }, limit: PAGE }
  let count = 0
  for (let after: [number, string] | undefined; ; ) {
    const rows = await deps.store.find('operations', after ? { ...query, after } : query)
    const running = rows.length > 0 ? await deps.running?.() : undefined
    const orphans = rows.filter(({ node }) => !running?.has(node ?? ''))
    await each(orphans, async row => {
      const { writes, change } = endOf(row, deps)
      if (!(await deps.store.commit(writes)).committed) return
      deps.onChange?.(change)
      count++
    })
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return count
    after = [last.expiresAt ?? 0, last.id]
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
