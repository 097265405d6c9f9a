import { AppError, isAppError, type Settings } from '../../../contracts/index.ts'
import type { Clock, Emitter, Ids } from '../../kernel/index.ts'
import { insert, isUnkeepable, type Write } from '../../store/index.ts'
import { auditRow } from './audit-row.ts'
import type { DurableWriter } from './durable-writer.ts'
import { outcomeAfter } from './in-doubt.ts'
import { endTerms } from './keep-until.ts'
import type { OperationDelay, OperationEnd } from './operation-log.ts'
import type { IsHeard, Receipts, Untold } from './receipts.ts'
import type { RunningCall } from './running-call.ts'
import { giveUpAt } from './standing.ts'
import type { StorageAccess } from './storage.ts'
import { resultWrites } from './stored-results.ts'
import { ended, queued, type Step } from './transitions.ts'

/** Writes down what became of runs, together with the line of the audit. It counts only while the run is this process's. */
export interface Endings {
  end(call: RunningCall, end: OperationEnd): Promise<void>
  /** It is to be tried again. */
  delay(call: RunningCall, delay: OperationDelay): Promise<void>
  /** What has ended here and is still to be written. */
  owed(): readonly string[]
  isOwed(id: string): boolean
}

export interface EndingsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly emitter: Emitter
  readonly writer: DurableWriter
  readonly receipts: Pick<Receipts, 'expect'>
  readonly settings: Pick<Settings, 'operationDays' | 'retryMaxAgeMinutes'>
}

export function createEndings(deps: EndingsDeps): Endings {
  const { storage, clock, ids, emitter, writer, receipts, settings } = deps
  const owed = new Set<string>()

  async function conclude(call: RunningCall, step: LastStep, { audit: line, ...end }: Least): Promise<void> {
    await say(call, step, line).catch(error => {
      if (!isAppError(error) || error.cause === undefined || !isUnkeepable(error.cause)) throw error
      // Something in it no store takes. What is left of it is on record, or it would stand there as if it were running.
      return say(call, endOf(call, { ...end, id: call.record.id, result: undefined, audit: line }), line)
    })
  }

  async function say(call: RunningCall, step: LastStep, line: OperationEnd['audit']): Promise<void> {
    const { writes, change, answer } = step
    const own = call.row === 'there' ? writes : writes.map(notWhereThereIsNone)
    const all = [...own, insert('audit', auditRow(ids.next('audit'), line))]
    const isWritten = await writer.write(all, `the end of "${call.record.id}"`, {
      onLate: writing => void sayLate(step, writing),
    })
    if (!isWritten) await refuseLost(call, change.to)
    emitter.emit('operation.changed', change)
    if (answer) receipts.expect(answer, answer.isHeard)
  }

  /** It is not lost while this process still knows how it ended: its lease is kept, and nobody runs it again meanwhile. */
  async function sayLate({ change, answer }: LastStep, writing: Promise<boolean>): Promise<void> {
    owed.add(change.id)
    try {
      if (await writing) emitter.emit('operation.changed', { ...change, isTold: false })
      // Whoever waited for the answer has heard that nobody knows. Now somebody does, and that is told.
      if (answer) receipts.expect(answer, NEVER_HEARD)
    } catch {
      // The writer has logged it, and tries on where it can.
    } finally {
      owed.delete(change.id)
    }
  }

  /** A write whose first try nobody saw is there all the same. Else the lease has passed on, and somebody else's word counts. */
  async function refuseLost({ record: { id, tool }, standing, row }: RunningCall, to: string): Promise<void> {
    const { store } = await storage.open()
    const now = await store.get('operations', id)
    if ((now?.fence === standing.fence && now.state === to) || (!now && row === 'perhaps')) return
    const message = `"${tool}" took longer than this process could be waited for, and somebody else has taken it over.`
    throw new AppError('OUTCOME_UNKNOWN', `${message} Look before you call it again.`, { details: { tool } })
  }

  function endOf({ record, standing, isAwaited }: RunningCall, end: OperationEnd): LastStep {
    const { id, ttlMs = null, idempotencyKey } = record
    const { state, outcome, error, isRefused, isHeard } = end
    const now = Math.round(clock.now())
    // Nobody knows of one who was asked something, and may still come for the answer.
    const isGot = isAwaited && (isHeard ? isHeard() : true)
    const isTold = isGot !== false
    // Whoever got the answer has it; it is kept for those who come for it later.
    const isFetched = isGot !== true || ttlMs !== null || idempotencyKey !== undefined
    const result = isFetched ? end.result : undefined
    const last = ended(
      standing,
      { state, outcome, error, isRefused, result, isTold },
      endTerms(now, { ttlMs }, settings),
    )
    // Whoever got the answer has only the beginning of a result that was cut.
    const writes = [...last.writes, ...resultWrites(record, { pages: end.pages ?? [], result }, now)]
    return { writes, change: last.change, answer: isTold ? { id, tellAt: last.tellAt, isHeard } : undefined }
  }

  return {
    end: (call, end) => conclude(call, endOf(call, end), leastOf(end)),
    async delay(call, { dueAt, error, hasRun, audit }) {
      const { standing } = call
      // Waiting for what is missing is no attempt, and neither is one that this process did not come to, or was not allowed.
      const isNone = !hasRun && NOT_BEGUN.has(error.code)
      const outcome = outcomeAfter(error, { hasRun })
      const later = {
        outcome,
        dueAt: dueAt === undefined ? null : Math.round(dueAt),
        error,
        attempts: standing.attempts - (isNone ? 1 : 0),
        expiresAt: giveUpAt(standing, settings),
      }
      const step = queued(standing, later, Math.round(clock.now()))
      // Whoever waited gets a handle, and hears of the end when that comes.
      await conclude({ ...call, isAwaited: false }, step, leastOf({ state: 'exhausted', outcome, error, audit }))
    },
    owed: () => [...owed],
    isOwed: id => owed.has(id),
  }
}

/** The last step of a run. Where it is an end that its caller gets as the answer: from when on it is told if nobody got it. */
interface LastStep extends Step {
  readonly answer?: (Untold & { readonly isHeard: IsHeard | undefined }) | undefined
}

const NEVER_HEARD = () => false

/** What can always be written of an end. */
type Least = Pick<OperationEnd, 'state' | 'outcome' | 'error' | 'audit' | 'isHeard'>

function leastOf({ state, outcome, error, audit, isHeard }: Least): Least {
  if (!error) return { state, outcome, error, audit, isHeard }
  const { code, kind, retry } = error
  const message = `It ended with ${code}; what else there is to say about it could not be written down.`
  return { state, outcome, error: { code, kind, retry, message }, audit, isHeard }
}

/** A row that nobody saw being written may not be there, and its end must still reach the audit. */
function notWhereThereIsNone(write: Write): Write {
  return write.kind === 'update' ? { ...write, rows: 'any' } : write
}

/** Why a run that was about to begin did not. */
const NOT_BEGUN: ReadonlySet<string> = new Set(['STOPPING', 'CONSENT_REQUIRED', 'TOOL_DISABLED'])
