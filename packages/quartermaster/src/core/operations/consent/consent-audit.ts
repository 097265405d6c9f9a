import type { ApprovalRow, AuditEntry, GrantRow, Lasting, OperationRow } from '../../../contracts/index.ts'
import { auditOfRow } from '../record/waited-audit.ts'
import { callerOf } from '../record/whose.ts'
import { type Answerer, byWhom } from './consent-decision.ts'

/** What was said about a request. */
export interface Said {
  readonly decision: 'allow' | 'deny'
  readonly lasting: Lasting
  readonly by: Answerer
}

/** What the audit says about a person's answer, in the commit that makes it count. */
export function auditOfAnswer(row: OperationRow, { asks }: ApprovalRow, { decision, lasting, by }: Said, at: number) {
  const consent = { operations: asks.map(({ operation }) => operation), by: byWhom(by), lasting }
  const line = auditOfRow(row, { at, outcome: 'notRun', code: ANSWER_CODES[decision], consent })
  return decision === 'allow' ? ({ ...line, decision: 'allowed' } as const) : line
}

const ANSWER_CODES = { allow: 'CONSENT_ALLOWED', deny: 'CONSENT_DENIED' } as const

/** What the audit says about a grant that somebody took back. */
export function auditOfRevocation(grant: GrantRow, { by, tool }: { by: string; tool: string }, at: number): AuditEntry {
  return {
    at,
    operationId: grant.askedFor ?? grant.id,
    caller: callerOf(grant),
    tool: grant.tool ?? tool,
    digest: grant.digest ?? '',
    // What was allowed is not any more; what was forbidden may be asked for again.
    decision: grant.decision === 'allow' ? 'refused' : 'allowed',
    outcome: 'notRun',
    code: 'GRANT_REVOKED',
    consent: { operations: [grant.operation], by, lasting: grant.lasting },
    mutates: false,
    durationMs: 0,
  }
}
