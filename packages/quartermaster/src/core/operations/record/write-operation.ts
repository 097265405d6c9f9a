import { AppError, isAppError, messageOf, type NewRow, type Settings, toAppError } from '../../../contracts/index.ts'
import { type Clock, type Emitter, type Ids, type Log } from '../../kernel/index.ts'
import { insert, isUnkeepable, type Store, type Write } from '../../store/index.ts'
import { auditRow } from './audit.ts'
import { type DeliveryTracker, deliveredWrite, type IsDelivered, type UndeliveredResult } from './delivery-tracker.ts'
import {
  type Begun,
  type OperationDelay,
  type OperationEnd,
  type OperationLog,
  type OperationRecord,
} from './operation-log.ts'
import { rowOf, type WaitingTerms, waitingRowOf } from './operation-row.ts'
import { endTerms, expiryOf, GRANT_GUARD, type StorageAccess } from './operation-storage.ts'
import { firstSnapshot, type RunningCall } from './running-calls.ts'
import { resultWrites } from './stored-results.ts'
import { ended, isCommitUnknown, opened, queued, type Step } from './transitions.ts'
import { outcomeAfter } from './verify-after-failure.ts'

interface OperationStartsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly emitter: Emitter
  readonly writer: DurableWriter
  /** The id of this process, as the owner of leases. */
  readonly owner: string
  readonly settings: Pick<Settings, 'approvalsPerAgent' | 'operationDays' | 'leaseSeconds'>
}

/** Records calls before they run: as running now, with their consent, or as waiting. */
export function createOperationStarts(deps: OperationStartsDeps): Pick<OperationLog, 'park' | 'queue'> & {
  record(call: RunningCall, consent: readonly Write[]): Promise<Begun>
} {
  const { storage, clock, emitter, writer, owner, settings } = deps

  /** Writes the row, with more writes in the same commit. `onUnknown` is called when the outcome of the commit is unknown. */
  async function open(
    store: Store,
    row: NewRow<'operations'>,
    more: readonly Write[],
    onUnknown: () => void,
  ): Promise<Begun> {
    const { writes, change } = opened(row)
    const all = [...writes, ...more]
    const outcome = await store.commit(all).catch(error => {
      if (!isCommitUnknown(error)) throw error
      // However the second try ends, the first may have been written.
      onUnknown()
      return store.commit(all)
    })
    if (!outcome.committed && !(await store.get('operations', row.id)))
      return outcome.failed.guard === GRANT_GUARD ? 'unallowed' : 'known'
    // The second try finds the row where the first was written after all.
    emitter.emit('operation.changed', change)
    return 'begun'
  }

  /** The caller was told that the call was not run, so no person may be asked about it, and no process may run it. */
  function revert(record: OperationRecord, state: WaitingTerms['state'], failure: AppError): void {
    const { id, ttlMs = null } = record
    const now = Math.round(clock.now())
    const waiting = { ...firstSnapshot(record), state, fence: 0, startedAt: null }
    const end = { state: 'cancelled', outcome: undefined, result: undefined, isTold: true } as const
    const { writes, tellAt } = ended(waiting, { ...end, error: failure.toJSON() }, endTerms(now, { ttlMs }, settings))
    writer.write([...writes, deliveredWrite({ id, tellAt }, now)], `that "${id}" was not run`).catch(() => {
      // The writer has logged it, and retries where it can.
    })
  }

  async function wait(record: OperationRecord, terms: WaitingTerms, more: readonly Write[]) {
    let mayBeWritten = false
    try {
      const { store, sealer } = await storage.open()
      const row = waitingRowOf(record, { ...terms, node: owner, sealer })
      return (await open(store, row, more, () => (mayBeWritten = true))) === 'begun' ? 'begun' : 'known'
    } catch (error) {
      const failure = notRecorded(record, error)
      if (mayBeWritten) revert(record, terms.state, failure)
      throw failure
    }
  }

  /** Operations written at the same time are not counted: the limit protects the disk, and need not be exact. */
  async function refuseFull(record: OperationRecord): Promise<void> {
    const { organisation, workspace, name } = record.caller
    const most = settings.approvalsPerAgent
    try {
      const { store } = await storage.open()
      const where = { organisation, workspace, state: 'queued', expiresAt: { not: null } } as const
      if ((await store.count('operations', where)) < most) return
    } catch (error) {
      throw notRecorded(record, error)
    }
    const next = 'Wait until some have run, or cancel what is not needed: quartermaster operations.'
    throw new AppError('LIMIT_EXCEEDED', `"${name}" has ${most} calls that wait for tools; more may not. ${next}`)
  }

  return {
    async record(call, more) {
      try {
        const { store, sealer } = await storage.open()
        const until = Math.round(clock.now() + settings.leaseSeconds * 1000)
        const row = rowOf(call.record, { owner, until, sealer })
        const begun = await open(store, row, more, () => (call.row = 'perhaps'))
        if (begun === 'begun') call.row = 'there'
        return begun
      } catch (error) {
        throw notRecorded(call.record, error)
      }
    },
    park(record, approval, awaitedUntil = null) {
      const { expiresAt } = approval
      return wait(record, { state: 'waitingForApproval', awaitedUntil, expiresAt }, [insert('approvals', approval)])
    },
    async queue(record, waiting) {
      await refuseFull(record)
      return await wait(record, { state: 'queued', ...waiting }, [])
    },
  }
}

/** Codes whose message says what to do; any other would read as if the tool had failed. */
const CLEAR_CODES = new Set(['STORE_BUSY', 'STORE_LOCKED', 'CONFIG_INVALID', 'STOPPING'])

/** The error for a call that could not be recorded, and so was not run. */
export function notRecorded({ tool }: Pick<OperationRecord, 'tool'>, error: unknown): AppError {
  if (CLEAR_CODES.has(toAppError(error).code)) return toAppError(error)
  const message = `"${tool}" was not run, because the call could not be written down first: ${messageOf(error)}`
  return new AppError('STORE_UNAVAILABLE', message, { cause: error, details: { tool } })
}

/** Records how runs end, each with its audit line. Only valid while this process holds the lease. */
interface OperationEnds {
  end(call: RunningCall, end: OperationEnd): Promise<void>
  /** Schedules a retry. */
  delay(call: RunningCall, delay: OperationDelay): Promise<void>
  /** Operations that ended here and whose end is not written yet. */
  unwritten(): ReadonlySet<string>
}

interface OperationEndsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly emitter: Emitter
  readonly writer: DurableWriter
  readonly deliveries: Pick<DeliveryTracker, 'expect'>
  readonly settings: Pick<Settings, 'operationDays' | 'retryMaxAgeMinutes'>
}

export function createOperationEnds(deps: OperationEndsDeps): OperationEnds {
  const { storage, clock, ids, emitter, writer, deliveries, settings } = deps
  const unwritten = new Set<string>()

  async function conclude(call: RunningCall, step: LastStep, { audit: line, ...end }: MinimalEnd): Promise<void> {
    await write(call, step, line).catch(error => {
      if (!isAppError(error) || error.cause === undefined || !isUnkeepable(error.cause)) throw error
      // The result has a value that no store takes. Without it the end is recorded: else the operation would seem to run.
      return write(call, stepOf(call, { ...end, id: call.record.id, result: undefined, audit: line }), line)
    })
  }

  async function write(call: RunningCall, step: LastStep, line: OperationEnd['audit']): Promise<void> {
    const { writes, change, answer } = step
    const own = call.row === 'there' ? writes : writes.map(ifRowExists)
    const all = [...own, insert('audit', auditRow(ids.next('audit'), line))]
    const onLate = (writing: Promise<boolean>) => void finishLate(step, writing)
    const isWritten = await writer.write(all, `the end of "${call.record.id}"`, onLate)
    if (!isWritten) await refuseLost(call, change.to)
    emitter.emit('operation.changed', change)
    if (answer) deliveries.expect(answer, answer.isDelivered)
  }

  /** The lease is kept while only this process knows the outcome, so that no other runs the operation meanwhile. */
  async function finishLate({ change, answer }: LastStep, writing: Promise<boolean>): Promise<void> {
    unwritten.add(change.id)
    try {
      if (await writing) emitter.emit('operation.changed', { ...change, isTold: false })
      // The waiting caller was told that the outcome is unknown. Now it is known, and the caller is notified.
      if (answer) deliveries.expect(answer, () => false)
    } catch {
      // The writer has logged it, and retries where it can.
    } finally {
      unwritten.delete(change.id)
    }
  }

  /** Passes where the first try had an unknown outcome and was written. Else another process has the lease, and its outcome is valid. */
  async function refuseLost({ record: { id, tool }, snapshot, row }: RunningCall, to: string): Promise<void> {
    const { store } = await storage.open()
    const now = await store.get('operations', id)
    if ((now?.fence === snapshot.fence && now.state === to) || (!now && row === 'perhaps')) return
    const message = `"${tool}" took longer than its lease, and another process has taken it over.`
    throw new AppError('OUTCOME_UNKNOWN', `${message} Look before you call it again.`, { details: { tool } })
  }

  function stepOf({ record, snapshot, isAwaited }: RunningCall, end: OperationEnd): LastStep {
    const { id, ttlMs = null, idempotencyKey } = record
    const { state, outcome, error, isRefused, isDelivered } = end
    const now = Math.round(clock.now())
    // Unknown for a client that was asked something, and may still come for the answer.
    const isGot = isAwaited && (isDelivered ? isDelivered() : true)
    const isTold = isGot !== false
    // A delivered result is stored only for clients that may ask for it again.
    const isFetched = isGot !== true || ttlMs !== null || idempotencyKey !== undefined
    const result = isFetched ? end.result : undefined
    const last = ended(
      snapshot,
      { state, outcome, error, isRefused, result, isTold },
      endTerms(now, { ttlMs }, settings),
    )
    const writes = [...last.writes, ...resultWrites(record, { pages: end.pages ?? [], result }, now)]
    return { writes, change: last.change, answer: isTold ? { id, tellAt: last.tellAt, isDelivered } : undefined }
  }

  return {
    end: (call, end) => conclude(call, stepOf(call, end), minimalEnd(end)),
    async delay(call, { dueAt, error, hasRun, audit }) {
      const { snapshot } = call
      // Only a run uses up an attempt.
      const wasNoAttempt = !hasRun && NOT_BEGUN.has(error.code)
      const outcome = outcomeAfter(error, { hasRun })
      const later = {
        outcome,
        dueAt: dueAt === undefined ? null : Math.round(dueAt),
        error,
        attempts: snapshot.attempts - (wasNoAttempt ? 1 : 0),
        expiresAt: expiryOf(snapshot, settings),
      }
      const step = queued(snapshot, later, Math.round(clock.now()))
      // A waiting caller gets a handle, and is notified of the result later.
      await conclude({ ...call, isAwaited: false }, step, minimalEnd({ state: 'exhausted', outcome, error, audit }))
    },
    unwritten: () => unwritten,
  }
}

/** The last step of a run; `answer` where the caller gets the result as its answer. */
interface LastStep extends Step {
  readonly answer?: (UndeliveredResult & { readonly isDelivered: IsDelivered | undefined }) | undefined
}

/** The part of an end that every store can keep. */
type MinimalEnd = Pick<OperationEnd, 'state' | 'outcome' | 'error' | 'audit' | 'isDelivered'>

function minimalEnd({ state, outcome, error, audit, isDelivered }: MinimalEnd): MinimalEnd {
  if (!error) return { state, outcome, error, audit, isDelivered }
  const { code, kind, retry } = error
  const message = `It ended with ${code}; its details could not be written down.`
  return { state, outcome, error: { code, kind, retry, message }, audit, isDelivered }
}

/** A row whose commit had an unknown outcome may not exist, and its end must still reach the audit. */
function ifRowExists(write: Write): Write {
  return write.kind === 'update' ? { ...write, rows: 'any' } : write
}

/** Errors of a run that did not begin. */
const NOT_BEGUN: ReadonlySet<string> = new Set(['STOPPING', 'CONSENT_REQUIRED', 'TOOL_DISABLED'])

/** Writes what must not be lost, and retries until it succeeds. */
export interface DurableWriter {
  /**
   * Resolves with whether the commit was applied: another process may have been faster. Rejects with `STORE_UNAVAILABLE` when the
   * store takes too long; `onLate` then gets the write, which is still retried. Values that no store takes are not retried: the
   * error has the store's as its cause. The guards must make a second commit of the same writes do nothing.
   */
  write(writes: readonly Write[], what: string, onLate?: (writing: Promise<boolean>) => void): Promise<boolean>
  /** Tries what is left one last time. */
  stop(): Promise<void>
}

interface DurableWriterDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
}

/** How long a caller whose tool has run waits for its end to be written. */
const WRITE_TIMEOUT_MS = 5_000
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 30_000
/** More would fill the memory while the disk is full. */
const MOST_PENDING = 1_000

export function createDurableWriter({ storage, clock, log }: DurableWriterDeps): DurableWriter {
  const pending = new Set<Promise<boolean>>()
  const wakers = new Set<() => void>()
  let isStopping = false

  async function commitWithRetry(writes: readonly Write[], what: string): Promise<boolean> {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const isLast = isStopping || pending.size > MOST_PENDING
      try {
        return await commit(writes, what)
      } catch (error) {
        if (isLast || !isTemporary(error)) throw notWritten(what, error)
        log.warn('the store could not write and is asked again', { what, error: messageOf(error) })
      }
      await sleep(pause)
    }
  }

  async function commit(writes: readonly Write[], what: string): Promise<boolean> {
    const { store } = await storage.open()
    const outcome = await store.commit(writes)
    // An earlier try was written after all, or another process has ended the operation, and the first end wins.
    if (!outcome.committed) log.debug('was written before', { what, guard: outcome.failed.guard })
    return outcome.committed
  }

  function sleep(ms: number): Promise<void> {
    return new Promise(resolve => {
      const wake = () => {
        cancel()
        wakers.delete(wake)
        resolve()
      }
      const cancel = clock.after(ms, wake)
      wakers.add(wake)
      if (isStopping) wake()
    })
  }

  async function withTimeout<T>(work: Promise<T>, what: string, onLate: () => void): Promise<T> {
    let cancel = () => {}
    const late = new Promise<never>((_, reject) => {
      cancel = clock.after(WRITE_TIMEOUT_MS, () => {
        onLate()
        reject(notWritten(what, undefined))
      })
    })
    try {
      return await Promise.race([work, late])
    } finally {
      cancel()
    }
  }

  return {
    write(writes, what, onLate) {
      const work = commitWithRetry(writes, what)
      pending.add(work)
      const settled = () => void pending.delete(work)
      // The caller may have stopped waiting, so the failure is logged here.
      work.then(settled, error => {
        settled()
        log.error('something that happened could not be written', { what, error: messageOf(error) })
      })
      return withTimeout(work, what, () => onLate?.(work))
    },
    async stop() {
      isStopping = true
      for (const wake of wakers) wake()
      // A late write may lead to another one.
      while (pending.size > 0) await Promise.allSettled(pending)
    },
  }
}

/** A failing store recovers, unless it is closed. A value that it does not take stays one. */
function isTemporary(error: unknown): boolean {
  return isAppError(error) && error.code !== 'STOPPING' && !isUnkeepable(error)
}

function notWritten(what: string, cause: unknown): AppError {
  const reason = cause === undefined ? 'the store does not answer' : messageOf(cause)
  return new AppError('STORE_UNAVAILABLE', `The store could not write ${what}: ${reason}`, { cause })
}
