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

/** Writes calls down before they run. */
interface OperationStarts {
  /** As a call that runs now, with its consent. */
  record(call: RunningCall, consent: readonly Write[]): Promise<Begun>
  /** As a call that waits for a person, with the request, and until when its caller waits. */
  park(
    record: OperationRecord,
    approval: NewRow<'approvals'>,
    awaitedUntil?: number | null,
  ): Promise<Exclude<Begun, 'unallowed'>>
  /** As a call that waits for what its tool needs. */
  readonly queue: OperationLog['queue']
}

interface OperationStartsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly emitter: Emitter
  readonly writer: DurableWriter
  /** Who this process is among those that run operations. */
  readonly owner: string
  readonly settings: Pick<Settings, 'approvalsPerAgent' | 'operationDays' | 'leaseSeconds'>
}

export function createOperationStarts(deps: OperationStartsDeps): OperationStarts {
  const { storage, clock, emitter, writer, owner, settings } = deps

  async function open(store: Store, { row, more, onUnseen }: Opening): Promise<Begun> {
    const { writes, change } = opened(row)
    const all = [...writes, ...more]
    const outcome = await store.commit(all).catch(error => {
      if (!isCommitUnknown(error)) throw error
      // However the second try ends, the first may be there.
      onUnseen()
      return store.commit(all)
    })
    if (!outcome.committed && !(await store.get('operations', row.id)))
      return outcome.failed.guard === GRANT_GUARD ? 'unallowed' : 'known'
    // A second try finds the row of the first, if that was written after all.
    emitter.emit('operation.changed', change)
    return 'begun'
  }

  /** The caller was told that it was not run: then no person may be asked about it, and no process may run it. */
  function takeBack(record: OperationRecord, state: WaitingTerms['state'], failure: AppError): void {
    const { id, ttlMs = null } = record
    const now = Math.round(clock.now())
    const waiting = { ...firstSnapshot(record), state, fence: 0, startedAt: null }
    const end = {
      state: 'cancelled',
      outcome: undefined,
      result: undefined,
      error: failure.toJSON(),
      isTold: true,
    } as const
    const { writes, tellAt } = ended(waiting, end, endTerms(now, { ttlMs }, settings))
    writer.write([...writes, deliveredWrite({ id, tellAt }, now)], `that "${id}" was not run`).catch(() => {
      // The writer has logged it, and tries on where it can.
    })
  }

  async function wait(record: OperationRecord, terms: WaitingTerms, more: readonly Write[]) {
    let isPerhapsThere = false
    const onUnseen = () => (isPerhapsThere = true)
    try {
      const { store, sealer } = await storage.open()
      const row = waitingRowOf(record, { ...terms, node: owner, sealer })
      return (await open(store, { row, more, onUnseen })) === 'begun' ? 'begun' : 'known'
    } catch (error) {
      const failure = notRecorded(record, error)
      if (isPerhapsThere) takeBack(record, terms.state, failure)
      throw failure
    }
  }

  /** Those that are written at the same time are not counted: the limit is about disk, not about the last one. */
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
        const begun = await open(store, { row, more, onUnseen: () => (call.row = 'perhaps') })
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

interface Opening {
  readonly row: NewRow<'operations'>
  /** What is written in the same commit. */
  readonly more: readonly Write[]
  /** Called when the outcome of the commit is unknown. */
  readonly onUnseen: () => void
}

/** Codes that say themselves what to do; anything else would read as if the tool had failed. */
const TELLING = new Set(['STORE_BUSY', 'STORE_LOCKED', 'CONFIG_INVALID', 'STOPPING'])

/** Why a call could not be written down, and so was not run. */
export function notRecorded({ tool }: Pick<OperationRecord, 'tool'>, error: unknown): AppError {
  if (TELLING.has(toAppError(error).code)) return toAppError(error)
  const message = `"${tool}" was not run, because the call could not be written down first: ${messageOf(error)}`
  return new AppError('STORE_UNAVAILABLE', message, { cause: error, details: { tool } })
}

/** Records the outcome of runs, together with the audit line. Only valid while the run is this process's. */
interface OperationEnds {
  end(call: RunningCall, end: OperationEnd): Promise<void>
  /** It is to be tried again. */
  delay(call: RunningCall, delay: OperationDelay): Promise<void>
  /** What has ended here and is still to be written. */
  owed(): readonly string[]
  isOwed(id: string): boolean
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
    if (answer) deliveries.expect(answer, answer.isDelivered)
  }

  /** It is not lost while this process still knows the outcome: its lease is kept, and no other process runs it meanwhile. */
  async function sayLate({ change, answer }: LastStep, writing: Promise<boolean>): Promise<void> {
    owed.add(change.id)
    try {
      if (await writing) emitter.emit('operation.changed', { ...change, isTold: false })
      // The waiting caller was told that the outcome is unknown. Now it is known, and the caller is notified.
      if (answer) deliveries.expect(answer, NEVER_DELIVERED)
    } catch {
      // The writer has logged it, and tries on where it can.
    } finally {
      owed.delete(change.id)
    }
  }

  /** A write whose first try had an unknown outcome is there all the same. Else the lease has passed on, and another process's outcome is valid. */
  async function refuseLost({ record: { id, tool }, snapshot, row }: RunningCall, to: string): Promise<void> {
    const { store } = await storage.open()
    const now = await store.get('operations', id)
    if ((now?.fence === snapshot.fence && now.state === to) || (!now && row === 'perhaps')) return
    const message = `"${tool}" took longer than its lease, and another process has taken it over.`
    throw new AppError('OUTCOME_UNKNOWN', `${message} Look before you call it again.`, { details: { tool } })
  }

  function endOf({ record, snapshot, isAwaited }: RunningCall, end: OperationEnd): LastStep {
    const { id, ttlMs = null, idempotencyKey } = record
    const { state, outcome, error, isRefused, isDelivered } = end
    const now = Math.round(clock.now())
    // Unknown for a client that was asked something, and may still come for the answer.
    const isGot = isAwaited && (isDelivered ? isDelivered() : true)
    const isTold = isGot !== false
    // The caller has its answer; the result is kept for clients that come for it later.
    const isFetched = isGot !== true || ttlMs !== null || idempotencyKey !== undefined
    const result = isFetched ? end.result : undefined
    const last = ended(
      snapshot,
      { state, outcome, error, isRefused, result, isTold },
      endTerms(now, { ttlMs }, settings),
    )
    // The caller has only the beginning of a result that was cut.
    const writes = [...last.writes, ...resultWrites(record, { pages: end.pages ?? [], result }, now)]
    return { writes, change: last.change, answer: isTold ? { id, tellAt: last.tellAt, isDelivered } : undefined }
  }

  return {
    end: (call, end) => conclude(call, endOf(call, end), leastOf(end)),
    async delay(call, { dueAt, error, hasRun, audit }) {
      const { snapshot } = call
      // Waiting for what is missing is no attempt, and neither is a run that this process did not begin, or that was not allowed.
      const isNone = !hasRun && NOT_BEGUN.has(error.code)
      const outcome = outcomeAfter(error, { hasRun })
      const later = {
        outcome,
        dueAt: dueAt === undefined ? null : Math.round(dueAt),
        error,
        attempts: snapshot.attempts - (isNone ? 1 : 0),
        expiresAt: expiryOf(snapshot, settings),
      }
      const step = queued(snapshot, later, Math.round(clock.now()))
      // A waiting caller gets a handle, and is notified of the result later.
      await conclude({ ...call, isAwaited: false }, step, leastOf({ state: 'exhausted', outcome, error, audit }))
    },
    owed: () => [...owed],
    isOwed: id => owed.has(id),
  }
}

/** The last step of a run. For an end that the caller gets as the answer: when it is notified if the answer got lost. */
interface LastStep extends Step {
  readonly answer?: (UndeliveredResult & { readonly isDelivered: IsDelivered | undefined }) | undefined
}

const NEVER_DELIVERED = () => false

/** What can always be written of an end. */
type Least = Pick<OperationEnd, 'state' | 'outcome' | 'error' | 'audit' | 'isDelivered'>

function leastOf({ state, outcome, error, audit, isDelivered }: Least): Least {
  if (!error) return { state, outcome, error, audit, isDelivered }
  const { code, kind, retry } = error
  const message = `It ended with ${code}; what else there is to say about it could not be written down.`
  return { state, outcome, error: { code, kind, retry, message }, audit, isDelivered }
}

/** A row whose commit had an unknown outcome may not be there, and its end must still reach the audit. */
function notWhereThereIsNone(write: Write): Write {
  return write.kind === 'update' ? { ...write, rows: 'any' } : write
}

/** Why a run that was about to begin did not. */
const NOT_BEGUN: ReadonlySet<string> = new Set(['STOPPING', 'CONSENT_REQUIRED', 'TOOL_DISABLED'])

/** Writes what has happened and must not be lost: what does not succeed is tried again until it does. */
export interface DurableWriter {
  /**
   * Resolves when it is written, with whether it was: another process may have been faster. Rejects with `STORE_UNAVAILABLE`
   * when that takes too long to wait for; it is retried all the same. What no store could write is not retried: then it rejects
   * at once with the store's objection as the cause. The writes must be guarded such that a second time does nothing.
   */
  write(writes: readonly Write[], what: string, options?: WriteOptions): Promise<boolean>
  /** Tries what is left one last time. */
  stop(): Promise<void>
}

interface WriteOptions {
  /** Told when it takes too long to wait for, with what comes of it in the end. */
  readonly onLate?: (writing: Promise<boolean>) => void
}

interface DurableWriterDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
}

/** How long a caller whose tool has run waits for its end to be written. */
const PATIENCE_MS = 5_000
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 30_000
/** More would fill the memory while the disk is full. */
const MOST_OWED = 1_000

export function createDurableWriter({ storage, clock, log }: DurableWriterDeps): DurableWriter {
  const owed = new Set<Promise<boolean>>()
  const wakers = new Set<() => void>()
  let isStopping = false

  async function tryUntilDone(writes: readonly Write[], what: string): Promise<boolean> {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const isLast = isStopping || owed.size > MOST_OWED
      try {
        return await commit(writes, what)
      } catch (error) {
        if (isLast || !canPass(error)) throw unwritten(what, error)
        log.warn('the store could not write and is asked again', { what, error: messageOf(error) })
      }
      await sleep(pause)
    }
  }

  async function commit(writes: readonly Write[], what: string): Promise<boolean> {
    const { store } = await storage.open()
    const outcome = await store.commit(writes)
    // A commit with an unknown outcome was written after all; or another process has ended it, and the first end wins.
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

  async function inTime<T>(work: Promise<T>, what: string, onLate: () => void): Promise<T> {
    let cancel = () => {}
    const enough = new Promise<never>((_, reject) => {
      cancel = clock.after(PATIENCE_MS, () => {
        onLate()
        reject(unwritten(what, undefined))
      })
    })
    try {
      return await Promise.race([work, enough])
    } finally {
      cancel()
    }
  }

  return {
    write(writes, what, { onLate } = {}) {
      const work = tryUntilDone(writes, what)
      owed.add(work)
      const settled = () => void owed.delete(work)
      // The caller may have stopped listening; the loss is told here.
      work.then(settled, error => {
        settled()
        log.error('something that happened could not be written', { what, error: messageOf(error) })
      })
      return inTime(work, what, () => onLate?.(work))
    },
    async stop() {
      isStopping = true
      for (const wake of wakers) wake()
      // What is late may owe a word about that.
      while (owed.size > 0) await Promise.allSettled(owed)
    },
  }
}

/** The store's troubles pass, unless it is closed. What it objects to in what is to be written stays. */
function canPass(error: unknown): boolean {
  return isAppError(error) && error.code !== 'STOPPING' && !isUnkeepable(error)
}

function unwritten(what: string, cause: unknown): AppError {
  const reason = cause === undefined ? 'the store does not answer' : messageOf(cause)
  return new AppError('STORE_UNAVAILABLE', `The store could not write ${what}: ${reason}`, { cause })
}
