import { AppError, type OperationRow, type Settings } from '../../../contracts/index.ts'
import type { Clock, Ids, Random } from '../../kernel/index.ts'
import { insert, type Store } from '../../store/index.ts'
import { auditRow } from '../record/audit-row.ts'
import { giveUpAt } from '../record/standing.ts'
import { ended, queued, type Step } from '../record/transitions.ts'
import { auditOfRow } from '../record/waited-audit.ts'
import { type AfterFailure, afterFailure, type RetryTerms } from './retry-policy.ts'

export interface LeftBehindDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly random: Random
  readonly settings: RetryTerms['settings'] & Pick<Settings, 'operationDays'>
}

const PAGE = 200
const DAY_MS = 24 * 3_600_000

/**
 * Decides about what a process was running when it went away without a word: it is tried again where its tool lets that be
 * done, and else it is over. To be called by whoever has just become the owner of the store, before it runs anything itself:
 * then every lease is one of somebody who is gone. Answers how many there were.
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

function writesFor(row: OperationRow, deps: LeftBehindDeps) {
  return lostStep(row, deps).writes
}

/** What becomes of an operation whose run nobody hears of any more, with its line of the audit. */
export function lostStep(row: OperationRow, deps: Omit<LeftBehindDeps, 'store'>): Step {
  const { retry: policy, mutates, attempts } = row
  const failure = goneWhile(row)
  const now = Math.round(deps.clock.now())
  const by = giveUpAt(row, deps.settings)
  const next = afterFailure({ policy, mutates, failure, hasRun: true, attempts, giveUpAt: by, now }, deps)
  const { writes, change } = stepAfter(row, { failure, next, now }, deps)
  const line = auditOfRow(row, { at: now, outcome: mutates ? 'unknown' : 'failed', code: failure.code })
  return { writes: [...writes, insert('audit', auditRow(deps.ids.next('audit'), line))], change }
}

interface Loss {
  readonly failure: AppError
  readonly next: AfterFailure
  readonly now: number
}

function stepAfter(
  row: OperationRow,
  { failure, next, now }: Loss,
  { settings }: Pick<LeftBehindDeps, 'settings'>,
): Step {
  const error = failure.toJSON()
  if (next.kind === 'again' || isWorthALook(row, next)) {
    const expiresAt = giveUpAt(row, settings)
    // It has waited for this process to come.
    return queued(
      row,
      { dueAt: now, error, attempts: row.attempts, expiresAt, outcome: row.mutates ? 'unknown' : 'failed' },
      now,
    )
  }
  const outcome = row.mutates ? 'unknown' : 'failed'
  const keepMs = row.ttlMs ?? settings.operationDays * DAY_MS
  return ended(row, { state: next.state, outcome, result: undefined, error, isTold: false }, { now, keepMs })
}

/** Its last run may have done all of it, and whoever takes it next can see. It is not run again: see `refuseOneTooMany`. */
function isWorthALook({ retry, effects }: OperationRow, next: AfterFailure): boolean {
  return next.kind === 'end' && next.state === 'exhausted' && retry === 'verifyFirst' && effects.length > 0
}

/** Whether a run that was cut off did its work nobody can say. Of a tool that changes nothing it does not matter. */
function goneWhile({ tool, mutates }: OperationRow): AppError {
  const gone = `Quartermaster ended while "${tool}" ran`
  if (!mutates) return new AppError('STOPPING', `${gone}. It changes nothing; call it again.`)
  const message = `${gone}, so it may have done its work. Look before you call it again.`
  return new AppError('OUTCOME_UNKNOWN', message, { details: { tool } })
}
