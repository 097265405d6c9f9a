import {
  isAppError,
  type NewRow,
  type OperationFacts,
  type OperationRow,
  type OperationSummary,
} from '../../contracts/index.ts'
import { canonicalJson } from '../kernel/index.ts'
import type { SealedPlace, Sealer } from '../store/index.ts'
import { maskArguments } from './mask.ts'
import type { OperationEnd, OperationRecord } from './operation-log.ts'

/** The first lease of an operation. */
export const FIRST_FENCE = 1

/** The last moment that a date can say: one process owns the store, and its lease lasts as long as it lives. */
const WHILE_THE_OWNER_LIVES = 8_640_000_000_000_000

/** The row of a call that runs now, its arguments sealed. */
export function rowOf(
  record: OperationRecord,
  { owner, sealer }: { owner: string; sealer: Sealer },
): NewRow<'operations'> {
  const { id, caller, ttlMs } = record
  const now = Math.round(record.startedAt)
  return {
    id,
    workspace: caller.workspace,
    callerKind: caller.kind,
    callerName: caller.name,
    tool: record.tool,
    definitionHash: record.definitionHash,
    mutates: record.mutates,
    parentId: record.parentId ?? null,
    arguments: sealer.seal(canonicalJson(record.input ?? {}), argumentsOf(id)),
    digest: record.digest,
    state: 'leased',
    attempts: 1,
    leaseOwner: owner,
    leaseUntil: WHILE_THE_OWNER_LIVES,
    fence: FIRST_FENCE,
    createdAt: now,
    updatedAt: now,
    startedAt: now,
    ttlMs: ttlMs === undefined ? null : Math.round(ttlMs),
  }
}

/** What the end of a call changes in its row. */
export function endedColumns(end: Omit<OperationEnd, 'id' | 'audit'>, times: { now: number; keepMs: number }) {
  const now = Math.round(times.now)
  return {
    state: end.state,
    outcome: end.outcome ?? null,
    result: end.result ?? null,
    error: end.error ?? null,
    arguments: null,
    leaseOwner: null,
    leaseUntil: null,
    updatedAt: now,
    endedAt: now,
    keepUntil: now + times.keepMs,
  } satisfies Partial<OperationRow>
}

/** Everything a list shows. A page has no use for the results of a thousand operations. */
export const SUMMARY_COLUMNS = [
  'id',
  'callerName',
  'tool',
  'mutates',
  'state',
  'outcome',
  'error',
  'parentId',
  'createdAt',
  'updatedAt',
  'endedAt',
] as const satisfies (keyof OperationRow)[]

/** An operation as lists show it. */
export function summaryOf(row: Pick<OperationRow, (typeof SUMMARY_COLUMNS)[number]>): OperationSummary {
  const { id, callerName: agent, tool, mutates, state, createdAt, updatedAt } = row
  return {
    id,
    agent,
    tool,
    mutates,
    state,
    ...present('outcome', row.outcome),
    ...present('code', row.error?.code),
    ...present('parentId', row.parentId),
    createdAt,
    updatedAt,
    ...present('endedAt', row.endedAt),
  }
}

/** Everything there is to know about an operation. */
export function factsOf(
  row: OperationRow,
  { sealer, progress }: { sealer: Sealer; progress: string | undefined },
): OperationFacts {
  const { digest, definitionHash, attempts, ttlMs, keepUntil } = row
  return {
    ...summaryOf(row),
    digest,
    definitionHash,
    attempts,
    ...present('arguments', row.arguments === null ? null : masked(row.id, row.arguments, sealer)),
    ...present('result', row.result),
    ...present('error', row.error),
    ...present('progress', progress ?? row.progress),
    ...present('ttlMs', ttlMs),
    ...present('keepUntil', keepUntil),
  }
}

/** Arguments sealed with a key that is gone are no reason not to show the rest. */
function masked(id: string, sealed: string, sealer: Sealer): Record<string, string> | undefined {
  try {
    return maskArguments(sealer.open(sealed, argumentsOf(id)))
  } catch (error) {
    if (isAppError(error)) return undefined
    throw error
  }
}

function argumentsOf(id: string): SealedPlace {
  return { table: 'operations', id, column: 'arguments' }
}

function present<K extends string, V>(name: K, value: V | null | undefined): { [C in K]?: V } {
  return (value === null || value === undefined ? {} : { [name]: value }) as { [C in K]?: V }
}
