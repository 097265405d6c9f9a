import {
  AppError,
  type OperationChange,
  type OperationRow,
  type OperationState,
  type Settings,
} from '../../../contracts/index.ts'
import { type Clock, type Ids, type Random } from '../../kernel/index.ts'
import { insert, pagesOf, type Store } from '../../store/index.ts'
import { auditOfRow, auditRow } from '../record/audit.ts'
import { endTerms, expiryOf } from '../record/operation-storage.ts'
import { afterFailure, type RetryTerms } from '../record/running-calls.ts'
import { ended, isInDoubt, queued, type Step } from '../record/transitions.ts'
import { withOperation } from '../record/verify-after-failure.ts'

export interface RecoveryDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly random: Random
  readonly settings: RetryTerms['settings'] & Pick<Settings, 'operationDays'>
  /** Called with each change once it is recorded. */
  readonly onChange?: ((change: OperationChange) => void) | undefined
  /**
   * The ids of running processes, whose operations are left alone; none when absent. Called after the operations are read, so
   * that the leases of a process that started since are not taken for lost.
   */
  readonly running?: (() => Promise<ReadonlySet<string>>) | undefined
}

/** How many operations were recovered, by outcome. */
export interface RecoveredCalls {
  /** Retried, or verified. */
  readonly again: number
  /** With an unknown outcome; a person decides. */
  readonly inDoubt: number
  /** Ended; they changed nothing and can be called again. */
  readonly over: number
  /** Nested calls whose parent is gone, ended without a run. */
  readonly orphans: number
}

const PAGE = 200

/**
 * Recovers the operations that a process was running when it crashed: retried where their tool allows that, else ended. Call it
 * right after joining the processes of the store and before running anything: then every lease belongs to a running process or
 * to a crashed one.
 */
export async function recoverAfterCrash(deps: RecoveryDeps): Promise<RecoveredCalls> {
  const { store } = deps
  const counts = { again: 0, inDoubt: 0, over: 0, orphans: await endOrphans(deps) }
  // The index of leases has only unfinished operations.
  const where = { state: 'leased' as const, leaseUntil: { not: null } }
  const query = { where, order: { by: ['leaseUntil', 'id'] as const }, limit: PAGE }
  for await (const rows of pagesOf(store, 'operations', query)) {
    const running = await deps.running?.()
    const lost = rows.filter(({ leaseOwner }) => !running?.has(leaseOwner ?? ''))
    await runAll(lost, async row => {
      const { writes, change } = stepAfterLostRun(row, deps)
      // Another process that starts at the same moment may be faster.
      if (!(await store.commit(writes)).committed) return
      counts[countOf(change.to)]++
      deps.onChange?.(change)
    })
  }
  return counts
}

function countOf(state: OperationState): Exclude<keyof RecoveredCalls, 'orphans'> {
  if (state === 'queued') return 'again'
  return isInDoubt(state) ? 'inDoubt' : 'over'
}

/** The transition of an operation whose process crashed during its run, with its audit line. */
export function stepAfterLostRun(
  row: OperationRow,
  { clock, ids, random, settings }: Pick<RecoveryDeps, 'clock' | 'ids' | 'random' | 'settings'>,
): Step {
  const { retry: policy, mutates, attempts } = row
  const failure = crashError(row)
  const error = failure.toJSON()
  const now = Math.round(clock.now())
  const outcome = mutates ? 'unknown' : 'failed'
  const expiresAt = expiryOf(row, settings)
  const run = { policy, mutates, failure, hasRun: true, attempts, expiryOf: expiresAt, now }
  const next = afterFailure(run, { random, settings })
  const line = auditOfRow(row, { at: now, outcome, code: failure.code })
  const { writes, change } =
    next.kind === 'again' || mayVerifyFirst(row, next.state)
      ? // It has waited for this process to start.
        queued(row, { dueAt: now, error, attempts, expiresAt, outcome }, now)
      : ended(
          row,
          { state: next.state, outcome, result: undefined, error, isTold: false },
          endTerms(now, row, settings),
        )
  return { writes: [...writes, insert('audit', auditRow(ids.next('audit'), line))], change }
}

/**
 * The last run may have done all of the work, so the next process to lease the operation verifies it. It is not run again (see
 * `refuseExtraRun`); expired operations are verified as they expire.
 */
function mayVerifyFirst({ retry, sealedEffects }: OperationRow, end: OperationState): boolean {
  return retry === 'verifyFirst' && sealedEffects !== null && (end === 'exhausted' || end === 'expired')
}

/** Whether a crashed run did its work is unknown. For a tool that changes nothing it does not matter. */
function crashError({ id, tool, mutates, sealedEffects }: OperationRow): AppError {
  const gone = `Quartermaster ended while "${tool}" ran`
  if (!mutates) return new AppError('STOPPING', `${gone}. It changes nothing; call it again.`)
  const message = `${gone}, so it may have done its work. Look before you call it again.`
  const failure = new AppError('OUTCOME_UNKNOWN', message, { details: { tool } })
  return withOperation(failure, { id, hasEffects: sealedEffects !== null })
}

/**
 * Ends nested calls that had not run when the process of their parent crashed. The parent is gone or starts over and makes the
 * call again: if the old one were allowed too, the work would be done twice. Nested calls that have run are left to a person.
 */
async function endOrphans(deps: RecoveryDeps): Promise<number> {
  const state = { in: ['waitingForApproval', 'queued'] as const }
  // Every waiting operation has an expiry, so this uses the index of expiry.
  const where = { state, expiresAt: { not: null }, parentId: { not: null }, outcome: null }
  const query = { where, order: { by: ['expiresAt', 'id'] as const }, limit: PAGE }
  let count = 0
  for await (const rows of pagesOf(deps.store, 'operations', query)) {
    const running = await deps.running?.()
    const orphans = rows.filter(({ node }) => !running?.has(node ?? ''))
    await runAll(orphans, async row => {
      const { writes, change } = orphanEnd(row, deps)
      if (!(await deps.store.commit(writes)).committed) return
      deps.onChange?.(change)
      count++
    })
  }
  return count
}

function orphanEnd(row: OperationRow, { clock, ids, settings }: RecoveryDeps): Step {
  const now = Math.round(clock.now())
  const message = `"${row.tool}" was not run: Quartermaster ended, and with it the tool that had called it.`
  const error = new AppError('CANCELLED', message).toJSON()
  const end = { state: 'cancelled', outcome: undefined, result: undefined, error, isTold: false } as const
  const { writes, change } = ended(row, end, endTerms(now, row, settings))
  const line = auditOfRow(row, { at: now, outcome: 'notRun', code: error.code })
  return { writes: [...writes, insert('audit', auditRow(ids.next('audit'), line))], change }
}

/** Runs all at once and waits for all, also where one fails. */
export async function runAll<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const outcomes = await Promise.allSettled(items.map(work))
  const failed = outcomes.find(outcome => outcome.status === 'rejected')
  if (failed) throw failed.reason
}
