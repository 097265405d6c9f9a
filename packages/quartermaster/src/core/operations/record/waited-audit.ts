import type { AuditEntry, OperationRow } from '../../../contracts/index.ts'
import { callerOf } from './whose.ts'

/** What the audit says about an operation that came to its end, or was put off, while nobody was calling. */
export function auditOfRow(
  row: OperationRow,
  {
    at,
    outcome,
    code,
    consent,
  }: Pick<AuditEntry, 'at' | 'outcome'> & { code: string | undefined; consent?: AuditEntry['consent'] | undefined },
): AuditEntry {
  const entry: AuditEntry = {
    at,
    operationId: row.id,
    caller: callerOf(row),
    tool: row.tool,
    digest: row.digest,
    decision: outcome === 'notRun' ? 'refused' : 'allowed',
    outcome,
    mutates: row.mutates,
    durationMs: at - (row.startedAt ?? row.createdAt),
  }
  if (code !== undefined) entry.code = code
  if (consent !== undefined) entry.consent = consent
  return entry
}
