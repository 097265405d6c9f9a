import {
  AppError,
  type ErrorBody,
  type OperationOutcome,
  type OperationRow,
  TOLD_TOOLS,
} from '../../../contracts/index.ts'
import type { EndState, OperationEnd } from './operation-log.ts'
import type { Standing } from './standing.ts'

// What an earlier run of an operation may have done is done, whatever stops the operation later. Told as "not done", its
// caller would do it a second time.

/** Whether an earlier run may have done the work, and nobody knows. */
export function mayBeDone({ outcome }: Pick<OperationRow, 'outcome'>): boolean {
  return outcome === 'unknown'
}

/** What a failure says about what this run did; nothing where there was none, and none before it is in doubt by it. */
export function outcomeAfter(
  { code }: Pick<ErrorBody, 'code'>,
  { hasRun }: { readonly hasRun: boolean },
): OperationOutcome | undefined {
  // Also before a run: then it is one before that nobody can tell the end of.
  if (code === 'OUTCOME_UNKNOWN') return 'unknown'
  return hasRun ? 'failed' : undefined
}

/** Whether an end says of itself that the work was not done, or was given up. */
export function isNo(state: EndState): boolean {
  return state === 'expired' || state === 'exhausted' || isDefinite(state)
}

type Said = Pick<OperationEnd, 'state' | 'error'>

/** The end of an operation of which a run may have done the work: never one that says it was not done. */
export function doubtfulEnd<E extends Said>(from: Standing, end: E): E {
  if (!isNo(end.state)) return end
  const state = isDefinite(end.state) ? 'unknown' : end.state
  return { ...end, state, error: doubtful(from, end.error).toJSON() }
}

function isDefinite(state: EndState): boolean {
  return state === 'failed' || state === 'denied' || state === 'cancelled'
}

/** Both: what stopped it now, and that it may be done. */
function doubtful({ id, tool, sealedEffects }: Standing, why: ErrorBody | undefined): AppError {
  if (why?.code === 'OUTCOME_UNKNOWN') return AppError.fromJSON(why)
  const now = why?.message ?? `"${tool}" was tried again and said no.`
  const message = `${now} An earlier run of "${tool}" was cut off and may have done its work: look before you call it again.`
  const details = { tool, operationId: id, ...(why ? { because: why.code } : {}) }
  return new AppError('OUTCOME_UNKNOWN', `${message} ${whereToLook({ id, hasEffects: sealedEffects !== null })}`, {
    details,
  })
}

/** What there is to look for: an operation, and whether it says what it leaves behind. */
interface Looked {
  readonly id: string
  readonly hasEffects: boolean
}

/** The error of a call whose outcome nobody knows, with the operation to look for. */
export function namingOperation(failure: AppError, { id, hasEffects }: Looked): AppError {
  if (failure.code !== 'OUTCOME_UNKNOWN' || failure.details?.operationId === id) return failure
  const details = { ...failure.details, operationId: id }
  return new AppError(failure.code, `${failure.message} ${whereToLook({ id, hasEffects })}`, {
    cause: failure,
    details,
  })
}

function whereToLook({ id, hasEffects }: Looked): string {
  const step = hasEffects
    ? `Look with \`quartermaster operations verify ${id}\``
    : `See \`quartermaster operations show ${id}\``
  return `Its operation is "${id}". ${step}; an agent asks \`${TOLD_TOOLS.status}\`.`
}
