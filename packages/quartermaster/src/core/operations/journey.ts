import type { AuditEntry } from '../../contracts/index.ts'
import type { Tool } from '../catalogue/index.ts'
import type { CallRequest } from './call-request.ts'
import type { Consent } from './consent-stage.ts'
import type { Deadline } from './deadline.ts'

/** One call on its way along the path. What it has met so far is what the audit tells, however it ends. */
export interface Journey {
  /** What was asked for; after forwarding, what that came to. */
  request: CallRequest
  readonly operationId: string
  readonly startedAt: number
  /** How many calls are around it. */
  readonly depth: number
  /** The end of the call around it; a nested call gets no more time than is left. */
  readonly outer: Deadline | undefined
  /** The call around it. */
  readonly parentId: string | undefined
  tool: Tool | undefined
  digest: string
  consent: Consent | undefined
  hasRun: boolean
}

/** What the audit says about a call that has ended. */
export function auditOf(
  journey: Journey,
  end: { at: number; outcome: AuditEntry['outcome']; code?: string },
): AuditEntry {
  const { request, operationId, tool, digest, consent, hasRun, startedAt } = journey
  const entry: AuditEntry = {
    at: Math.round(end.at),
    operationId,
    caller: request.seat.caller,
    tool: request.tool,
    digest,
    decision: hasRun ? 'allowed' : 'refused',
    outcome: end.outcome,
    mutates: tool?.mutates ?? false,
    durationMs: end.at - startedAt,
  }
  if (end.code !== undefined) entry.code = end.code
  if (consent) entry.consent = consent
  return entry
}
