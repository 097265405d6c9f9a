import {
  AppError,
  type OperationChange,
  type OperationRow,
  type OperationState,
  type Settings,
} from '../../../contracts/index.ts'
import { type Clock, type Ids, type Random } from '../../kernel/index.ts'
import { insert, type Store } from '../../store/index.ts'
import { auditOfRow, auditRow } from '../record/audit.ts'
import { endTerms, expiryOf } from '../record/operation-storage.ts'
import { type AfterFailure, afterFailure, type RetryTerms } from '../record/running-calls.ts'
import { ended, isInDoubt, queued, type Step } from '../record/transitions.ts'
import { withOperation } from '../record/verify-after-failure.ts'

export interface RecoveryDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly random: Random
  readonly settings: RetryTerms['settings'] & Pick<Settings, 'operationDays'>
  /** Told of each change once it is on record. */
  readonly onChange?: ((change: OperationChange) => void) | undefined
  /** The processes that run, and keep what they have; none when absent. */
  readonly running?: Running | undefined
}

/** How many operations went each way. */
export interface RecoveredCalls {
  /** They are tried again, or looked at. */
  readonly again: number
  /** Unknown whether they were done; a person decides. */
  readonly inDoubt: number
  /** They changed nothing and can be called again. */
  readonly over: number
  /** Nested in an operation that is gone, had not been run, and are over. */
  readonly orphans: number
}

const PAGE = 200

/**
 * Recovers what a process was running when it crashed: retried where its tool allows that, else ended. Call it right after
 * joining the processes of the store and before running anything: then every lease belongs to a running process or to a crashed
 * one. Returns the counts.
 */
export async function recoverAfterCrash(deps: RecoveryDeps): Promise<RecoveredCalls> {
  const counts = { again: 0, inDoubt: 0, over: 0, orphans: await endOrphans(deps) }
  // By the index of leases, which holds what is going on and nothing of what has ended.
  const query = { where: { state: 'leased' as const, leaseUntil: { not: null } }, order: BY_LEASE, limit: PAGE }
  for (let after: [number, string] | undefined; ; ) {
    const rows = await deps.store.find('operations', after ? { ...query, after } : query)
    const running = rows.length > 0 ? await deps.running?.() : undefined
    const lost = rows.filter(({ leaseOwner }) => !running?.has(leaseOwner ?? ''))
    await runAll(lost, async row => {
      const { writes, change } = stepAfterLostRun(row, deps)
      const { committed } = await deps.store.commit(writes)
      // Another that starts at the same moment may be faster.
      if (!committed) return
      counts[fateOf(change.to)]++
      deps.onChange?.(change)
    })
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return counts
    after = [last.leaseUntil ?? 0, last.id]
  }
}

const BY_LEASE = { by: ['leaseUntil', 'id'] as const }

function fateOf(state: OperationState): Exclude<keyof RecoveredCalls, 'orphans'> {
  if (state === 'queued') return 'again'
  return isInDoubt(state) ? 'inDoubt' : 'over'
}

/** The step for an operation whose run was lost, with its audit line. */
export function stepAfterLostRun(row: OperationRow, deps: Omit<RecoveryDeps, 'store' | 'onChange' | 'running'>): Step {
  const { retry: policy, mutates, attempts } = row
  const failure = goneWhile(row)
  const now = Math.round(deps.clock.now())
  const by = expiryOf(row, deps.settings)
  const next = afterFailure({ policy, mutates, failure, hasRun: true, attempts, expiryOf: by, now }, deps)
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
  { settings }: Pick<RecoveryDeps, 'settings'>,
): Step {
  const error = failure.toJSON()
  if (next.kind === 'again' || isWorthALook(row, next)) {
    const expiresAt = expiryOf(row, settings)
    // It has waited for this process to come.
    return queued(
      row,
      { dueAt: now, error, attempts: row.attempts, expiresAt, outcome: row.mutates ? 'unknown' : 'failed' },
      now,
    )
  }
  const outcome = row.mutates ? 'unknown' : 'failed'
  const end = { state: next.state, outcome, result: undefined, error, isTold: false } as const
  return ended(row, end, endTerms(now, row, settings))
}

/**
 * Its last run may have done all of it, and the next process to lease it can verify. It is not run again: see
 * `refuseOneTooMany`; expired operations are verified as they expire.
 */
function isWorthALook({ retry, sealedEffects }: OperationRow, next: AfterFailure): boolean {
  if (next.kind !== 'end' || retry !== 'verifyFirst' || sealedEffects === null) return false
  return next.state === 'exhausted' || next.state === 'expired'
}

/** Whether a run that was cut off did its work is unknown. For a tool that changes nothing it does not matter. */
function goneWhile({ id, tool, mutates, sealedEffects }: OperationRow): AppError {
  const gone = `Quartermaster ended while "${tool}" ran`
  if (!mutates) return new AppError('STOPPING', `${gone}. It changes nothing; call it again.`)
  const message = `${gone}, so it may have done its work. Look before you call it again.`
  const failure = new AppError('OUTCOME_UNKNOWN', message, { details: { tool } })
  return withOperation(failure, { id, hasEffects: sealedEffects !== null })
}

interface OrphansDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly settings: Pick<Settings, 'operationDays'>
  /** Told of each change once it is on record. */
  readonly onChange?: ((change: OperationChange) => void) | undefined
  /** The processes that run, and keep what they have; none when absent. */
  readonly running?: Running | undefined
}

/** Called after the leases of others are read: processes that have begun since are included, so their leases are not taken for lost. */
type Running = () => Promise<ReadonlySet<string>>

/**
 * Ends nested calls that had not run when the process of both went away. The tool around them is gone or starts over, and asks
 * again: if the old call were allowed too, the work would be done twice. A nested call that has run before is a person's to
 * retry. Returns how many there were.
 */
async function endOrphans(deps: OrphansDeps): Promise<number> {
  const state = { in: ['waitingForApproval', 'queued'] as const }
  // By the index of expiry: everything that waits has one.
  const where = { state, expiresAt: { not: null }, parentId: { not: null }, outcome: null }
  const query = { where, order: { by: ['expiresAt', 'id'] as const }, limit: PAGE }
  let count = 0
  for (let after: [number, string] | undefined; ; ) {
    const rows = await deps.store.find('operations', after ? { ...query, after } : query)
    const running = rows.length > 0 ? await deps.running?.() : undefined
    const orphans = rows.filter(({ node }) => !running?.has(node ?? ''))
    await runAll(orphans, async row => {
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

/** All at once, and waited for to the last, also where one fails. */
export async function runAll<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const outcomes = await Promise.allSettled(items.map(work))
  const failed = outcomes.find(outcome => outcome.status === 'rejected')
  if (failed) throw failed.reason
}
