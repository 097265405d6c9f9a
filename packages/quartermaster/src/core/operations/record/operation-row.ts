import {
  isAppError,
  type NewRow,
  type OperationFacts,
  type OperationRow,
  type OperationSummary,
} from '../../../contracts/index.ts'
import { canonicalJson } from '../../kernel/index.ts'
import { type SealContext, type Sealer } from '../../store/index.ts'
import { type OperationRecord } from './operation-log.ts'
import { callerColumns, callerOf, type StorageAccess } from './operation-storage.ts'
import { effectFactsOf, maskValues } from './stored-results.ts'
import { canRepeat, type LeaseTerms } from './transitions.ts'

/** The fence of the first lease. */
export const FIRST_FENCE = 1

/** The row of a call that runs now. */
export function rowOf(
  record: OperationRecord,
  { owner, until, sealer }: LeaseTerms & { sealer: Sealer },
): NewRow<'operations'> {
  return {
    ...columnsOf(record, sealer),
    node: owner,
    state: 'leased',
    attempts: 1,
    leaseOwner: owner,
    leaseUntil: until,
    fence: FIRST_FENCE,
    startedAt: Math.round(record.startedAt),
  }
}

/** How a call waits that was not run: for approval, or for a dependency. */
export type WaitingTerms = Pick<NewRow<'operations'>, 'expiresAt' | 'awaitedUntil' | 'error'> & {
  readonly state: 'waitingForApproval' | 'queued'
}

/** The row of a call that waits before its first run. */
export function waitingRowOf(
  record: OperationRecord,
  { sealer, ...terms }: WaitingTerms & { node: string; sealer: Sealer },
): NewRow<'operations'> {
  return { ...columnsOf(record, sealer), ...terms, attempts: 0, fence: 0 }
}

function columnsOf(record: OperationRecord, sealer: Sealer): Omit<NewRow<'operations'>, 'state'> {
  const { id, caller, ttlMs } = record
  const now = Math.round(record.startedAt)
  return {
    id,
    ...callerColumns(caller),
    tool: record.tool,
    definitionHash: record.definitionHash,
    mutates: record.mutates,
    retry: record.retry,
    parentId: record.parentId ?? null,
    arguments: sealer.seal(canonicalJson(record.input ?? {}), argumentsContext(id)),
    digest: record.digest,
    idempotencyKey: record.idempotencyKey ?? null,
    createdAt: now,
    updatedAt: now,
    ttlMs: ttlMs === undefined ? null : Math.round(ttlMs),
  }
}

/** The columns that lists show. A page has no use for the results of a thousand operations. */
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

/** An operation with all its details. */
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
    retry: row.retry,
    ...present('nextAttemptAt', row.dueAt),
    ...present('expiresAt', row.expiresAt),
    ...(canRepeat(row) ? { canRetry: true } : {}),
    ...present('idempotencyKey', row.idempotencyKey),
    ...present('announcedAt', row.announcedAt),
    ...present('arguments', maskedArguments(row, sealer)),
    ...present('effects', effectFactsOf(row, sealer)),
    ...present('result', row.result),
    ...present('error', row.error),
    ...present('progress', progress ?? row.progress),
    ...present('dueAt', row.dueAt),
    ...present('ttlMs', ttlMs),
    ...present('keepUntil', keepUntil),
  }
}

/** The names of the arguments. Arguments sealed with a lost key are no reason not to show the rest. */
function maskedArguments(row: OperationRow, sealer: Sealer): Record<string, string> | undefined {
  if (row.arguments === null) return undefined
  try {
    return maskValues(openArguments(row, sealer))
  } catch (error) {
    if (isAppError(error)) return undefined
    throw error
  }
}

/** The arguments as given. Throws when they cannot be opened. */
export function openArguments(
  { id, arguments: sealed }: Pick<OperationRow, 'id' | 'arguments'>,
  sealer: Sealer,
): unknown {
  return JSON.parse(sealer.open(sealed ?? '', argumentsContext(id)))
}

function argumentsContext(id: string): SealContext {
  return { table: 'operations', id, column: 'arguments' }
}

function present<K extends string, V>(name: K, value: V | null | undefined): { [C in K]?: V } {
  return (value === null || value === undefined ? {} : { [name]: value }) as { [C in K]?: V }
}

/** The record of an operation that waited, as for a call that is about to run. */
export function recordOf(row: OperationRow, input: unknown): OperationRecord {
  return {
    id: row.id,
    caller: callerOf(row),
    tool: row.tool,
    definitionHash: row.definitionHash,
    mutates: row.mutates,
    retry: row.retry,
    digest: row.digest,
    input,
    startedAt: row.startedAt ?? row.createdAt,
    parentId: row.parentId ?? undefined,
    ttlMs: row.ttlMs ?? undefined,
    needsConsent: false,
    idempotencyKey: row.idempotencyKey ?? undefined,
  }
}

/** Seals texts about an operation, such as the state that a client carries. */
export interface OperationSeal {
  seal(text: string, operationId: string): Promise<string>
  /** Rejects a text that is forged, changed, or about another operation. */
  open(sealed: string, operationId: string): Promise<string>
}

export function createOperationSeal(storage: StorageAccess): OperationSeal {
  const contextOf = (id: string) => ({ table: 'operations' as const, id, column: 'requestState' })
  return {
    seal: async (text, id) => (await storage.open()).sealer.seal(text, contextOf(id)),
    open: async (sealed, id) => (await storage.open()).sealer.open(sealed, contextOf(id)),
  }
}
