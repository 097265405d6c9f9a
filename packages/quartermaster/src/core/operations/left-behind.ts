import { AppError, type OperationRow } from '../../contracts/index.ts'
import type { Clock, Ids } from '../kernel/index.ts'
import { insert, type Store, update } from '../store/index.ts'
import { auditRow } from './audit-row.ts'
import type { OperationEnd } from './operation-log.ts'
import { endedColumns } from './operation-row.ts'

export interface LeftBehindDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  /** How long a record is kept that is no task. */
  readonly keepMs: number
}

const PAGE = 200

/**
 * Ends what a process was running when it went away without a word. To be called by whoever has just become the owner of
 * the store, before it runs anything itself: then every lease is one of somebody who is gone. Answers how many there were.
 */
export async function settleLeftBehind(deps: LeftBehindDeps): Promise<number> {
  let settled = 0
  for (;;) {
    // By the index of leases, which holds what is going on and nothing of what has ended.
    const where = { state: 'leased' as const, leaseUntil: { not: null } }
    const rows = await deps.store.find('operations', { where, limit: PAGE })
    await deps.store.commit(rows.flatMap(row => writesFor(row, deps)))
    settled += rows.length
    if (rows.length < PAGE) return settled
  }
}

function writesFor(row: OperationRow, { clock, ids, keepMs }: LeftBehindDeps) {
  const now = clock.now()
  const end = endOf(row)
  return [
    update('operations', {
      where: { id: row.id, state: 'leased', fence: row.fence },
      set: endedColumns(end, { now, keepMs: row.ttlMs ?? keepMs }),
    }),
    insert('audit', auditRow(ids.next('audit'), auditOf(row, end, now))),
  ]
}

type End = Omit<OperationEnd, 'id' | 'audit'>

/** Whether a run that was cut off did its work nobody can say. Of a tool that changes nothing it does not matter. */
function endOf({ tool, mutates }: OperationRow): End {
  const gone = `Quartermaster ended while "${tool}" ran`
  if (!mutates) {
    const error = new AppError('STOPPING', `${gone}. It changes nothing; call it again.`).toJSON()
    return { state: 'failed', outcome: 'failed', result: undefined, error }
  }
  const message = `${gone}, so it may have done its work. Look before you call it again.`
  const error = new AppError('OUTCOME_UNKNOWN', message, { details: { tool } }).toJSON()
  return { state: 'unknown', outcome: 'unknown', result: undefined, error }
}

function auditOf(row: OperationRow, { outcome = 'unknown', error }: End, now: number) {
  const caller = { kind: row.callerKind, name: row.callerName, workspace: row.workspace }
  return {
    at: now,
    operationId: row.id,
    caller,
    tool: row.tool,
    digest: row.digest,
    decision: 'allowed' as const,
    outcome,
    mutates: row.mutates,
    durationMs: now - (row.startedAt ?? row.createdAt),
    ...(error ? { code: error.code } : {}),
  }
}
