import type { OperationRow, Settings } from '../../../contracts/index.ts'

/** As much of an operation as it takes to go on from where it stands. */
export type Standing = Pick<
  OperationRow,
  | 'id'
  | 'tool'
  | 'organisation'
  | 'workspace'
  | 'callerKind'
  | 'callerName'
  | 'state'
  | 'fence'
  | 'attempts'
  | 'createdAt'
  | 'startedAt'
  | 'expiresAt'
  | 'outcome'
  | 'sealedEffects'
>

/**
 * When an operation is given up, whatever it waits for. Its age counts from its first run, or from a person's word to do it:
 * what it waited for them before is not held against it.
 */
export function giveUpAt(
  { expiresAt, startedAt, createdAt }: Pick<OperationRow, 'expiresAt' | 'startedAt' | 'createdAt'>,
  { retryMaxAgeMinutes }: Pick<Settings, 'retryMaxAgeMinutes'>,
): number {
  return expiresAt ?? (startedAt ?? createdAt) + retryMaxAgeMinutes * 60_000
}
