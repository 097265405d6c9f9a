import type { OperationRow } from '../../../contracts/index.ts'
import type { OperationRecord } from './operation-log.ts'
import { callerOf } from './whose.ts'

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
