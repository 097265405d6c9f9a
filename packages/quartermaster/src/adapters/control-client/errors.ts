import { AppError, type ControlOperation, isAppError } from '../../contracts/index.ts'
import { Dropped } from '../http-exchange/index.ts'

/** The ways in which asking another process can fail, each as the error that says what to do next. */
export interface Failures {
  /** There was no answer: nothing was sent, or nobody knows what became of it. */
  fromSending(error: unknown): AppError
  /** Reading the answer failed. */
  fromStream(error: unknown): AppError
  /** The answer ended before its last line. */
  cut(cause?: unknown): AppError
  /** The answer does not have the shape it must have. */
  notUnderstood(cause: unknown): AppError
  /** What answers is not one of us. */
  stranger(cause: unknown): AppError
}

export interface FailureContext {
  operation: ControlOperation
  url: string
  signal: AbortSignal | undefined
}

export function createFailures({ operation, url, signal }: FailureContext): Failures {
  const cancelled = (cause: unknown) => new AppError('CANCELLED', `"${operation}" was cancelled.`, { cause })
  const cut = (cause?: unknown) =>
    NOT_REPEATABLE.has(operation)
      ? outcomeUnknown(operation, url, cause)
      : gone(url, 'stopped in the middle of its answer', cause)
  return {
    cut,
    fromSending: error => {
      if (signal?.aborted) return cancelled(signal.reason)
      return wasNeverSent(error) ? gone(url, 'does not answer any more', error) : cut(error)
    },
    fromStream: error => {
      if (isAppError(error)) return error
      return signal?.aborted ? cancelled(signal.reason) : cut(error)
    },
    notUnderstood: cause =>
      new AppError(
        'OUTPUT_INVALID',
        `The answer of the "up" at ${url} to "${operation}" is not understood. It may be another version; restart it.`,
        { cause },
      ),
    stranger: cause => {
      if (signal?.aborted) return cancelled(signal.reason)
      return gone(url, 'is gone, and another program answers there', cause)
    },
  }
}

/** Operations whose effect may have happened although no answer came; all others can simply be asked again. */
const NOT_REPEATABLE: ReadonlySet<ControlOperation> = new Set(['call'])

function outcomeUnknown(operation: ControlOperation, url: string, cause: unknown): AppError {
  const message = `The "up" at ${url} went away while "${operation}" ran; it may have had its effect. Look before you repeat it.`
  return new AppError('OUTCOME_UNKNOWN', message, { cause, details: { url } })
}

function gone(url: string, what: string, cause: unknown): AppError {
  const message = `The "up" at ${url} ${what}. Start it again with "quartermaster up", then repeat the command.`
  return new AppError('DEPENDENCY_UNAVAILABLE', message, { cause, details: { url } })
}

function wasNeverSent(error: unknown): boolean {
  return error instanceof Dropped && !error.wasSent
}
