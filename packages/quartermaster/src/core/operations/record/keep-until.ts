import type { OperationRow, Settings } from '../../../contracts/index.ts'

/** A day, as everything that is kept for days counts them. */
export const DAY_MS = 24 * 3_600_000

/** When an operation ends, and how long it is kept from then on: a task as long as it said, all else as the owner says. */
export function endTerms(
  now: number,
  { ttlMs }: Pick<OperationRow, 'ttlMs'>,
  { operationDays }: Pick<Settings, 'operationDays'>,
): { readonly now: number; readonly keepMs: number } {
  return { now, keepMs: ttlMs ?? operationDays * DAY_MS }
}
