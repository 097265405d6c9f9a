import type { AppError, AuditEntry } from '../../../contracts/index.ts'
import type { Clock, Emitter } from '../../kernel/index.ts'
import type { OperationLog } from '../record/operation-log.ts'
import type { PermittedReading, ReadingPlan } from './reading-plan.ts'

/** One reading on its way. What it has met so far is what the audit tells, however it ends. */
export interface ReadingJourney<T> {
  readonly plan: ReadingPlan<T>
  readonly operationId: string
  readonly startedAt: number
  readonly digest: string
  reading: PermittedReading<T> | undefined
  hasRun: boolean
}

export interface SettleReadingDeps {
  readonly operations: Pick<OperationLog, 'end'>
  readonly clock: Clock
  readonly emitter: Emitter
}

/** Tells the audit how a reading ended. It is a line among those of the calls, under the address of what was read. */
export function settleReading(
  journey: ReadingJourney<unknown>,
  failure: AppError | undefined,
  { operations, clock, emitter }: SettleReadingDeps,
): void {
  const audit = auditOf(journey, failure, clock.now())
  const outcome = failure ? 'failed' : 'succeeded'
  // Nothing to wait for: what changes nothing has no record, and its audit is written in its own time.
  void operations.end({
    id: journey.operationId,
    state: failure?.code === 'CANCELLED' ? 'cancelled' : outcome,
    outcome: journey.hasRun ? outcome : undefined,
    result: undefined,
    error: failure?.toJSON(),
    audit,
  })
  emitter.emit('call.settled', audit)
}

function auditOf(journey: ReadingJourney<unknown>, failure: AppError | undefined, now: number): AuditEntry {
  const { plan, operationId, startedAt, digest, reading, hasRun } = journey
  const entry: AuditEntry = {
    at: Math.round(now),
    operationId,
    caller: plan.request.seat.caller,
    tool: reading?.address ?? plan.asked,
    digest,
    decision: hasRun ? 'allowed' : 'refused',
    outcome: failure ? (hasRun ? 'failed' : 'notRun') : 'succeeded',
    mutates: false,
    durationMs: now - startedAt,
  }
  return failure ? { ...entry, code: failure.code } : entry
}
