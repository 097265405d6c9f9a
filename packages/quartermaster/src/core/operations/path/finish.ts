import {
  AppError,
  type AuditEntry,
  type CallAnswer,
  KEPT_META,
  messageOf,
  type RetryPolicy,
  type ToolResult,
  toAppError,
} from '../../../contracts/index.ts'
import { type Tool } from '../../catalogue/index.ts'
import { type Clock, type Emitter, type Log, type Random } from '../../kernel/index.ts'
import { type EndState, type OperationEnd, type OperationLog } from '../record/operation-log.ts'
import { expiryOf } from '../record/operation-storage.ts'
import { afterFailure, type RetryTerms, waitingAnswer } from '../record/running-calls.ts'
import { type FailureVerifier, isNegativeEnd, outcomeAfter, withOperation } from '../record/verify-after-failure.ts'
import { auditOf, type CallState, isDeliveredTo, pagesOf } from './call-state.ts'

export interface FinishDeps {
  readonly operations: Pick<OperationLog, 'end' | 'delay'>
  readonly clock: Clock
  readonly emitter: Emitter
  readonly log: Log
}

/** The answer of a call, or its error. */
type Ending =
  | { readonly answer: CallAnswer }
  | {
      readonly failure: AppError /** The final state, where it does not follow from the failure. */
      readonly state?: EndState
    }

/** Records how a call ended, with its audit entry. Returns nothing to await when the call has no record. */
export function finish(callState: CallState, ending: Ending, deps: FinishDeps): Promise<void> | undefined {
  const { operations, clock, emitter } = deps
  const audit = auditOf(callState, auditEnd(callState, ending, clock.now()))
  const writing = operations.end(endOf(callState, ending, audit))
  if (writing) return written(callState, audit, writing, deps)
  emitter.emit('call.settled', audit)
  return undefined
}

/**
 * Schedules a retry, and records this attempt in the audit. Where the store takes too long the retry is written later, or crash
 * recovery finds it, so the caller must not call again.
 */
export async function putOff(
  callState: CallState,
  { failure, dueAt }: { failure: AppError; dueAt: number | undefined },
  { operations, clock, emitter, log }: FinishDeps,
): Promise<void> {
  const audit = auditOf(callState, auditEnd(callState, { failure }, clock.now()))
  const { operationId: id, hasRun, effects } = callState
  try {
    await operations.delay({ id, dueAt, error: failure.toJSON(), hasRun, audit })
  } catch (error) {
    log.error('that a call is tried again is not on record', { operationId: id, error: messageOf(error) })
    const { code } = toAppError(error)
    if (code === 'OUTCOME_UNKNOWN') throw withOperation(toAppError(error), { id, hasEffects: effects.length > 0 })
  }
  emitter.emit('call.settled', audit)
}

/**
 * Waits for the record of a tool that has run. Where that fails and the tool may have changed something, the caller gets
 * `OUTCOME_UNKNOWN`, as the record will say after a crash: an answer that is given and then lost is worse than one that makes the
 * caller check. Where the tool changed nothing, the answer is given without a record.
 */
async function written(
  callState: CallState,
  audit: AuditEntry,
  writing: Promise<void>,
  deps: FinishDeps,
): Promise<void> {
  const { emitter, log } = deps
  try {
    await writing
  } catch (error) {
    const { operationId, tool, hasRun } = callState
    log.error('the end of a call is not on record', { operationId, error: messageOf(error) })
    if (tool?.mutates && hasRun) {
      emitter.emit('call.settled', { ...audit, outcome: 'unknown', code: 'OUTCOME_UNKNOWN' })
      throw unwritten(callState, audit, error)
    }
  }
  emitter.emit('call.settled', audit)
}

function unwritten(callState: CallState, { outcome }: AuditEntry, cause: unknown): AppError {
  const { operationId: id, effects, request } = callState
  const { tool } = request
  const ended = outcome === 'unknown' ? 'ran' : `ran and ${outcome}`
  const message = `"${tool}" ${ended}, but that could not be written down. Look before you call it again.`
  const failure = new AppError('OUTCOME_UNKNOWN', message, { cause, details: { tool } })
  return withOperation(failure, { id, hasEffects: effects.length > 0 })
}

function auditEnd(callState: CallState, ending: Ending, at: number) {
  if ('answer' in ending) return { at, outcome: outcomeOf(ending.answer) }
  const { code } = ending.failure
  if (!callState.hasRun) return { at, outcome: 'notRun' as const, code }
  return { at, outcome: code === 'OUTCOME_UNKNOWN' ? ('unknown' as const) : ('failed' as const), code }
}

function endOf(callState: CallState, ending: Ending, audit: AuditEntry): OperationEnd {
  const { operationId: id, hasRun, wasHeldBack, isRecorded, whole } = callState
  const isDelivered = isDeliveredTo(callState)
  if ('answer' in ending) {
    const outcome = outcomeOf(ending.answer)
    const pages = isRecorded && whole ? pagesOf(whole) : undefined
    const result = recordedResult(ending.answer)
    return { id, audit, isDelivered, state: outcome, outcome, result, pages, error: undefined }
  }
  const { failure } = ending
  const state = ending.state ?? STATES[failure.code as keyof typeof STATES] ?? 'failed'
  const outcome = outcomeAfter(failure, { hasRun })
  const isRefused = failure.retry === 'later' && (!hasRun || wasHeldBack)
  return { id, audit, isDelivered, state, outcome, isRefused, result: undefined, error: failure.toJSON() }
}

/** The record of a cut result says where the rest is. */
function recordedResult({ result, kept }: CallAnswer): ToolResult {
  return kept ? { ...result, _meta: { ...result._meta, [KEPT_META]: kept } } : result
}

const STATES = { CANCELLED: 'cancelled', OUTCOME_UNKNOWN: 'unknown' } as const

function outcomeOf({ result }: CallAnswer): 'succeeded' | 'failed' {
  return result.isError ? 'failed' : 'succeeded'
}

export interface FailedCallDeps extends FinishDeps {
  readonly random: Random
  readonly failureVerifier: Pick<FailureVerifier, 'resultOf'>
  readonly settings: RetryTerms['settings']
}

/** Ends a failed call and throws its error, unless it is retried automatically: then its caller gets a handle. */
export async function afterFailedCall(
  callState: CallState,
  thrown: AppError,
  deps: FailedCallDeps,
): Promise<CallAnswer> {
  const failure = withOperationId(callState, thrown)
  // A call that waited for a person was ended and recorded elsewhere.
  if (callState.isParked && !callState.isRecorded) throw failure
  if (wasStopped(callState, failure) || isUnallowed(callState, failure)) return await putBack(callState, failure, deps)
  const { tool } = callState
  const next = nextStep(callState, failure, deps)
  if (next.kind === 'end' || !tool || !callState.isRecorded) {
    const done = next.kind === 'end' ? await doneEarlier(callState, next.state, deps) : undefined
    if (done) return done
    await finish(callState, { failure, ...(next.kind === 'end' ? { state: next.state } : {}) }, deps)
    throw failure
  }
  return await tryLater(callState, { failure, dueAt: next.dueAt }, deps)
}

/** Where the outcome is unknown, the caller gets the operation to look at. */
function withOperationId({ isRecorded, operationId: id, effects }: CallState, failure: AppError): AppError {
  return isRecorded ? withOperation(failure, { id, hasEffects: effects.length > 0 }) : failure
}

/** Ends a call as done, instead of as not done, where an earlier run had done the work. */
async function doneEarlier(
  callState: CallState,
  state: EndState,
  deps: FailedCallDeps,
): Promise<CallAnswer | undefined> {
  const { resumed, operationId } = callState
  const result = resumed && isNegativeEnd(state) ? await deps.failureVerifier.resultOf(resumed) : undefined
  if (!result) return undefined
  const answer = { operationId, result }
  await finish(callState, { answer }, deps)
  return answer
}

/** Whether an allowed or resumed call had not begun when the process stopped. */
function wasStopped({ hasRun, isRecorded, isParked, resumed, depth }: CallState, { code }: AppError): boolean {
  // The tool around a nested call stops as well, and could not come back for it.
  return code === 'STOPPING' && !hasRun && isRecorded && depth === 0 && (isParked || resumed !== undefined)
}

/** Whether a grant has expired since the operation was leased: then the queue asks a person again. */
function isUnallowed({ hasRun, resumed }: CallState, { code }: AppError): boolean {
  return code === 'CONSENT_REQUIRED' && !hasRun && resumed !== undefined
}

function putBack(callState: CallState, failure: AppError, deps: FailedCallDeps): Promise<CallAnswer> {
  return tryLater(callState, { failure, dueAt: Math.round(deps.clock.now()) }, deps)
}

async function tryLater(
  callState: CallState,
  delay: { failure: AppError; dueAt: number | undefined },
  deps: FailedCallDeps,
): Promise<CallAnswer> {
  await putOff(callState, delay, deps)
  const { operationId: id, request, startedAt, resumed } = callState
  const now = deps.clock.now()
  const expiresAt = expiryOf(resumed ?? { ...FIRST, createdAt: startedAt }, deps.settings)
  const { failure: error, dueAt = null } = delay
  return waitingAnswer({ id, tool: request.tool, state: 'queued', dueAt, expiresAt, error }, now)
}

function nextStep(callState: CallState, failure: AppError, deps: FailedCallDeps): ReturnType<typeof afterFailure> {
  const { tool, resumed, hasRun, startedAt, request } = callState
  const { attempts } = resumed ?? FIRST
  const by = expiryOf(resumed ?? { ...FIRST, createdAt: startedAt }, deps.settings)
  const policy = tool ? (resumed?.retry ?? policyOf(tool, callState)) : 'manual'
  const mutates = tool?.mutates ?? false
  const waits = request.whenDisabled === 'wait' || resumed?.error?.code === 'TOOL_DISABLED'
  const now = deps.clock.now()
  return afterFailure({ policy, mutates, waits, failure, hasRun, attempts, expiryOf: by, now }, deps)
}

/** A nested call is not retried: its parent gets the error and decides. */
function policyOf({ retry }: Pick<Tool, 'retry'>, { depth }: CallState): RetryPolicy {
  return depth > 0 ? 'manual' : retry
}

const FIRST = { attempts: 1, expiresAt: null, startedAt: null } as const

/** Any thrown value as an error that can be stored and sent. Details that are not JSON are left out: with them neither would work. */
export function toReportableError(thrown: unknown): AppError {
  const error = toAppError(thrown)
  if (error.details === undefined || isJson(error.details)) return error
  const message = `${messageOf(error)} (Its details were left out, because they cannot be written as JSON.)`
  return new AppError(error.code, message, { cause: error })
}

function isJson(details: unknown): boolean {
  try {
    JSON.stringify(details)
    return true
  } catch {
    // A cycle, a BigInt, a `toJSON` that throws.
    return false
  }
}
