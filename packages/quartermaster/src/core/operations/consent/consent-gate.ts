import { AppError, type ConsentAsk, type GrantRow } from '../../../contracts/index.ts'
import type { Seat } from '../../agents/index.ts'
import type { Catalogue, Tool } from '../../catalogue/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { Where } from '../../store/index.ts'
import type { ConsentedOnce } from '../path/call-request.ts'
import type { StorageAccess } from '../record/storage.ts'
import { type ConsentDecision, decideConsent, isTakenBack } from './consent-decision.ts'
import { scopeOf } from './resource-scope.ts'

/** A call that may need a person's consent. */
export interface GatedCall {
  readonly operationId: string
  readonly seat: Pick<Seat, 'caller' | 'agent'>
  readonly tool: Tool
  readonly digest: string
  readonly input: unknown
  /** What the owner allowed at the terminal, for exactly these arguments. */
  readonly consented: ConsentedOnce | undefined
}

/** Decides whether persons allowed a call, by all that they have said so far. */
export interface ConsentGate {
  decide(call: GatedCall): Promise<ConsentDecision>
  /** Whether a person has taken back, since then, what allowed any of what it asks for. */
  isTakenBack(call: GatedCall, asks: readonly ConsentAsk[], since: number): Promise<boolean>
}

export interface ConsentGateDeps {
  readonly storage: StorageAccess
  readonly catalogue: Pick<Catalogue, 'current'>
  readonly clock: Clock
}

/** Nobody has this many that count; more would be asked for one by one. */
const MOST_GRANTS = 1_000

export function createConsentGate({ storage, catalogue, clock }: ConsentGateDeps): ConsentGate {
  async function find({ seat: { caller }, tool }: GatedCall, more: Where<'grants'>): Promise<readonly GrantRow[]> {
    const { store } = await storage.open()
    const { workspace, kind: callerKind, name: callerName } = caller
    const whose = { organisation: 'default', workspace, callerKind, callerName, operation: { in: tool.consent } }
    return store.find('grants', { where: { ...whose, ...more }, limit: MOST_GRANTS })
  }

  return {
    async decide(call) {
      const { operationId, seat, tool, digest, input, consented } = call
      const now = Math.round(clock.now())
      return decideConsent({
        operationId,
        tool: tool.name,
        digest,
        asks: asksOf(tool, input, catalogue),
        standing: new Set(seat.agent()?.consent?.allow),
        // An answer to other arguments is no answer: allowing one deletion must not allow any.
        allowedNow: new Set(consented?.digest === digest ? consented.operations : []),
        grants: await find(call, { expiresAt: { above: now }, revokedAt: null }),
        now,
      })
    },
    async isTakenBack(call, asks, since) {
      // From the moment before on: what was taken back in it may be what this call was begun with.
      const grants = await find(call, { revokedAt: { above: since - 1 } })
      return isTakenBack({ operationId: call.operationId, asks, grants }, since)
    },
  }
}

/** What a call needs consent for, each with the resource that it is about. */
function asksOf(tool: Tool, input: unknown, catalogue: ConsentGateDeps['catalogue']): ConsentAsk[] {
  const known = catalogue.current().consentOperations
  return tool.consent.map(name => {
    const operation = known.get(name)
    // Definitions are checked when they load; one that vanished meanwhile is no reason to ask less.
    if (!operation) throw new AppError('DEFINITION_INVALID', `"${tool.name}" needs "${name}", which nobody defines.`)
    return { operation: name, reason: operation.reason, weight: operation.weight, ...scopeOf(operation, input) }
  })
}

/** The error for a caller that cannot wait, with all that is missing. */
export function consentRequired(tool: Tool, asks: readonly ConsentAsk[], digest: string): AppError {
  const names = asks.map(({ operation, weight, reason }) => `"${operation}" (${weight}): ${reason}`)
  const message =
    `"${tool.name}" needs a person's consent for ${names.join(', ')} ` +
    `The owner can answer at the terminal with \`quartermaster call\`, or allow it for good with \`quartermaster grant AGENT ${tool.capability} --consent NAME\`.`
  const operations = asks.map(({ operation: name, reason, weight }) => ({ name, reason, weight }))
  return new AppError('CONSENT_REQUIRED', message, { details: { tool: tool.name, digest, operations } })
}

export function consentDenied({ name }: Tool, { operation, grantedBy }: GrantRow): AppError {
  const message = `"${name}" is not allowed: ${grantedBy} has said no to "${operation}".`
  return new AppError('CONSENT_DENIED', message, { details: { tool: name, operation } })
}
