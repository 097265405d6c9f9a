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
import { callerColumns, callerOf, maskArguments, type StorageAccess } from './operation-storage.ts'
import { effectFactsOf } from './stored-results.ts'
import { canRepeat, type LeaseTerms } from './transitions.ts'

/** The first lease of an operation. */
export const FIRST_FENCE = 1

/** The row of a call that runs now, its arguments sealed. */
export function rowOf(
  record: OperationRecord,
  { owner, until, sealer }: LeaseTerms & { sealer: Sealer },
): NewRow<'operations'> {
  const now = Math.round(record.startedAt)
  return {
    ...factsFor(record, sealer),
    node: owner,
    state: 'leased',
    attempts: 1,
    leaseOwner: owner,
    leaseUntil: until,
    fence: FIRST_FENCE,
    startedAt: now,
  }
}

/** How a call waits that was not run: for a person, or for what its tool needs. */
export type WaitingTerms = Pick<NewRow<'operations'>, 'expiresAt' | 'awaitedUntil' | 'error'> & {
  readonly state: 'waitingForApproval' | 'queued'
}

/** The row of a call that waits before it is run. */
export function waitingRowOf(
  record: OperationRecord,
  { sealer, ...terms }: WaitingTerms & { node: string; sealer: Sealer },
): NewRow<'operations'> {
  return { ...factsFor(record, sealer), ...terms, attempts: 0, fence: 0 }
}

function factsFor(record: OperationRecord, sealer: Sealer): Omit<NewRow<'operations'>, 'state'> {
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
    arguments: sealer.seal(canonicalJson(record.input ?? {}), argumentsOf(id)),
    digest: record.digest,
    idempotencyKey: record.idempotencyKey ?? null,
    createdAt: now,
    updatedAt: now,
    ttlMs: ttlMs === undefined ? null : Math.round(ttlMs),
  }
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
    retry: row.retry,
    ...present('nextAttemptAt', row.dueAt),
    ...present('expiresAt', row.expiresAt),
    ...(canRepeat(row) ? { canRetry: true } : {}),
    ...present('idempotencyKey', row.idempotencyKey),
    ...present('announcedAt', row.announcedAt),
    ...present('arguments', row.arguments === null ? null : masked(row.id, row.arguments, sealer)),
    ...present('effects', effectFactsOf(row, sealer)),
    ...present('result', row.result),
    ...present('error', row.error),
    ...present('progress', progress ?? row.progress),
    ...present('dueAt', row.dueAt),
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

/** The arguments as they were given. Throws when they cannot be opened. */
export function openArguments(
  { id, arguments: sealed }: Pick<OperationRow, 'id' | 'arguments'>,
  sealer: Sealer,
): unknown {
  return JSON.parse(sealer.open(sealed ?? '', argumentsOf(id)))
}

function argumentsOf(id: string): SealContext {
  return { table: 'operations', id, column: 'arguments' }
}

function present<K extends string, V>(name: K, value: V | null | undefined): { [C in K]?: V } {
  return (value === null || value === undefined ? {} : { [name]: value }) as { [C in K]?: V }
}

/** What is known about an operation that waited, as about a call that is about to run. */
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

/** Makes texts about an operation that only this store's processes can have made, and read. */
export interface OperationSeal {
  seal(text: string, operationId: string): Promise<string>
  /** Rejects what was made up, changed, or is about another operation. */
  open(sealed: string, operationId: string): Promise<string>
}

export function createOperationSeal(storage: StorageAccess): OperationSeal {
  const placeOf = (id: string) => ({ table: 'operations' as const, id, column: 'requestState' })
  return {
    seal: async (text, id) => (await storage.open()).sealer.seal(text, placeOf(id)),
    open: async (sealed, id) => (await storage.open()).sealer.open(sealed, placeOf(id)),
  }
}
