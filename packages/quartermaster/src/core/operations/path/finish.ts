import {
  AppError,
  type AuditEntry,
  type CallAnswer,
  KEPT_META,
  messageOf,
  type ToolResult,
  toAppError,
} from '../../../contracts/index.ts'
import type { Clock, Emitter, Log } from '../../kernel/index.ts'
import type { EndState, OperationEnd, OperationLog } from '../record/operation-log.ts'
import { namingOperation, outcomeAfter } from '../record/verify-after-failure.ts'
import { auditOf, type CallState, isDeliveredTo, pagesOf } from './call-state.ts'

export interface FinishDeps {
  readonly operations: Pick<OperationLog, 'end' | 'delay'>
  readonly clock: Clock
  readonly emitter: Emitter
  readonly log: Log
}

/** How a call went: its answer, or why there is none. */
type Ending =
  | { readonly answer: CallAnswer }
  | {
      readonly failure: AppError /** What it ends as, where the failure alone does not say. */
      readonly state?: EndState
    }

/** Writes down how a call ended and tells the audit. Nothing has to be waited for when the call has no record. */
export function finish(callState: CallState, ending: Ending, deps: FinishDeps): Promise<void> | undefined {
  const { operations, clock, emitter } = deps
  const audit = auditOf(callState, auditEnd(callState, ending, clock.now()))
  const writing = operations.end(endOf(callState, ending, audit))
  if (writing) return written(callState, audit, writing, deps)
  emitter.emit('call.settled', audit)
  return undefined
}

/**
 * Records that a call is to be retried, and this attempt in the audit. Where that takes too long it is written later, or crash
 * recovery finds it: the call goes on all the same, and its caller must not call again.
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
    if (code === 'OUTCOME_UNKNOWN') throw namingOperation(toAppError(error), { id, hasEffects: effects.length > 0 })
  }
  emitter.emit('call.settled', audit)
}

/**
 * The tool has run, and its result may not reach the store. Where it may have changed something the caller gets
 * `OUTCOME_UNKNOWN`, which is what the record would say after a crash: an answer that is given and then forgotten is worse than
 * one that sends the caller to look. Where it changed nothing the answer itself is all there is, and is given.
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
  return namingOperation(failure, { id, hasEffects: effects.length > 0 })
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

/** The record of a cut result is the only place to find the rest. */
function recordedResult({ result, kept }: CallAnswer): ToolResult {
  return kept ? { ...result, _meta: { ...result._meta, [KEPT_META]: kept } } : result
}

const STATES = { CANCELLED: 'cancelled', OUTCOME_UNKNOWN: 'unknown' } as const

function outcomeOf({ result }: CallAnswer): 'succeeded' | 'failed' {
  return result.isError ? 'failed' : 'succeeded'
}
