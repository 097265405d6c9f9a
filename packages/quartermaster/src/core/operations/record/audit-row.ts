import { type AuditEntry, type AuditLine, type AuditRow, type NewRow, toKeepable } from '../../../contracts/index.ts'
import { whoseRow } from './whose.ts'

/** A line of the audit as the store keeps it. */
export function auditRow(id: string, entry: AuditEntry): NewRow<'audit'> {
  const { at, operationId, caller, digest, decision, outcome, mutates, durationMs, consent } = entry
  const { organisation, workspace, callerKind, callerName } = whoseRow(caller)
  return {
    id,
    organisation,
    workspace,
    callerKind,
    callerName,
    at: Math.round(at),
    operationId,
    tool: keepable(entry.tool),
    digest,
    decision,
    outcome,
    code: entry.code ?? null,
    consent: consent ? consentOf(consent) : null,
    mutates,
    durationMs: Math.max(0, durationMs),
  }
}

function consentOf({ operations, by, lasting }: NonNullable<AuditEntry['consent']>): AuditRow['consent'] {
  return { operations: [...operations], by, ...(lasting === undefined ? {} : { lasting }) }
}

/** A line of the audit as it is shown. */
export function lineOf({ organisation: _organisation, ...line }: AuditRow): AuditLine {
  return line
}

const LONGEST_NAME = 128

/** A refused call may name anything as its tool. One that no store takes would hold up the whole batch. */
function keepable(name: string): string {
  return toKeepable(name.slice(0, LONGEST_NAME))
}
