import { AppError, isAppError } from '../../contracts/index.ts'

/** The error for a value that no store keeps: trying it again would not help. */
export function unkeepable(column: string, message: string): AppError {
  return new AppError('INTERNAL', message, { details: { unkeepable: column } })
}

/** Whether a commit failed by what was to be written, not by the store. */
export function isUnkeepable(error: unknown): boolean {
  return isAppError(error) ? error.details?.unkeepable !== undefined : true
}
