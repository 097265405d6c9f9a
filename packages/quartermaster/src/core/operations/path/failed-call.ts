import { AppError, type CallAnswer, messageOf, type RetryPolicy, toAppError } from '../../../contracts/index.ts'
import type { Tool } from '../../catalogue/index.ts'
import type { Random } from '../../kernel/index.ts'
import type { EndState } from '../record/operation-log.ts'
import { expiryOf } from '../record/operation-storage.ts'
import { afterFailure, type RetryTerms, waitingAnswer } from '../record/running-calls.ts'
import { type FailureVerifier, isNo, namingOperation } from '../record/verify-after-failure.ts'
import type { CallState } from './call-state.ts'
import { type FinishDeps, finish, putOff } from './finish.ts'

export interface FailedCallDeps extends FinishDeps {
  readonly random: Random
  readonly failureVerifier: Pick<FailureVerifier, 'resultOf'>
  readonly settings: RetryTerms['settings']
}

/** Ends a call that could not be run and throws why, unless it is retried automatically: then its caller gets a handle. */
export async function afterFailedCall(
  callState: CallState,
  thrown: AppError,
  deps: FailedCallDeps,
): Promise<CallAnswer> {
  const failure = named(callState, thrown)
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

/** A caller that does not know whether the work was done gets the operation to look at. */
function named({ isRecorded, operationId: id, effects }: CallState, failure: AppError): AppError {
  return isRecorded ? namingOperation(failure, { id, hasEffects: effects.length > 0 }) : failure
}

/** Ends as done what would end as not done, where an earlier run had done it. */
async function doneEarlier(
  callState: CallState,
  state: EndState,
  deps: FailedCallDeps,
): Promise<CallAnswer | undefined> {
  const { resumed, operationId } = callState
  const result = resumed && isNo(state) ? await deps.failureVerifier.resultOf(resumed) : undefined
  if (!result) return undefined
  const answer = { operationId, result }
  await finish(callState, { answer }, deps)
  return answer
}

/** What was allowed, or is to be tried again, and had not begun when the process stopped. */
function wasStopped({ hasRun, isRecorded, isParked, resumed, depth }: CallState, { code }: AppError): boolean {
  // The tool around a nested call stops as well, and could not come back for it.
  return code === 'STOPPING' && !hasRun && isRecorded && depth === 0 && (isParked || resumed !== undefined)
}

/** What allowed it has run out since it was taken from the queue, which has a person asked again. */
function isUnallowed({ hasRun, resumed }: CallState, { code }: AppError): boolean {
  return code === 'CONSENT_REQUIRED' && !hasRun && resumed !== undefined
}

/** The next process that leases it begins with it. */
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

/** The tool around a nested call has its own idea of what to do, and is still there to hear that this one failed. */
function policyOf({ retry }: Pick<Tool, 'retry'>, { depth }: CallState): RetryPolicy {
  return depth > 0 ? 'manual' : retry
}

const FIRST = { attempts: 1, expiresAt: null, startedAt: null } as const

/**
 * Any thrown value as an error that can be written down and sent. Details that JSON cannot say are left out: with them
 * neither the caller nor the record would ever hear of the end.
 */
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
    // A cycle, a BigInt, a `toJSON` that throws: whichever it is, it cannot be sent.
    return false
  }
}
