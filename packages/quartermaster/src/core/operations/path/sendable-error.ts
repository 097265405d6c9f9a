import { AppError, messageOf, toAppError } from '../../../contracts/index.ts'

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
