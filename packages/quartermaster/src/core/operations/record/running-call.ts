import type { OperationRecord } from './operation-log.ts'
import { FIRST_FENCE } from './operation-row.ts'
import type { Standing } from './standing.ts'
import { whoseRow } from './whose.ts'

/** A call that runs, and whether its row is in the store: nobody knows when a commit ended without an answer. */
export interface RunningCall {
  readonly record: OperationRecord
  readonly standing: Standing
  row: 'none' | 'there' | 'perhaps'
  progress: string | undefined
  /** Whether whoever asked for it waits for the answer. */
  readonly isAwaited: boolean
  /** Told when the end is on record. */
  readonly waiting: Set<() => void>
}

/** One that is about to be written down, and whose caller waits. */
export function newCall(record: OperationRecord): RunningCall {
  return { ...freshCall(record, firstStanding(record)), row: 'none', isAwaited: true }
}

/** One that was on record before it is run here. */
export function adoptedCall(
  record: OperationRecord,
  standing: Standing,
  { isAwaited }: Pick<RunningCall, 'isAwaited'>,
): RunningCall {
  return { ...freshCall(record, standing), row: 'there', isAwaited }
}

function freshCall(record: OperationRecord, standing: Standing) {
  return { record, standing, progress: undefined, waiting: new Set<() => void>() }
}

/** How a call stands that runs at once. */
export function firstStanding({ id, tool, caller, startedAt }: OperationRecord): Standing {
  const at = Math.round(startedAt)
  return {
    id,
    tool,
    ...whoseRow(caller),
    state: 'leased',
    fence: FIRST_FENCE,
    attempts: 1,
    createdAt: at,
    startedAt: at,
    expiresAt: null,
    outcome: null,
    sealedEffects: null,
  }
}
