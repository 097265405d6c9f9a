import {
  AppError,
  type ConsentAsk,
  type GrantRow,
  type OperationRow,
  type PersonQuestion,
} from '../../../contracts/index.ts'
import { type AgentSession } from '../../agents/index.ts'
import { allowableForGood, type Catalogue, type ConsentOperationDefinition, type Tool } from '../../catalogue/index.ts'
import { type Clock, escapeLine, toVisibleJson } from '../../kernel/index.ts'
import { type StorageAccess } from '../record/operation-storage.ts'
import { mayBeDone } from '../record/verify-after-failure.ts'
import { type ConsentDecision, decideConsent, isTakenBack, scopeOf } from './consent-decision.ts'
import { type ConsentAnswer } from './consent-service.ts'
import { type ConsentedOnce, findGrants } from './grants.ts'

/** A call that may need a person's consent. */
interface GatedCall {
  readonly operationId: string
  readonly session: Pick<AgentSession, 'caller' | 'agent'>
  readonly tool: Tool
  /** What the tool's handler gets as its configuration. */
  readonly config: unknown
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

interface ConsentGateDeps {
  readonly storage: StorageAccess
  readonly catalogue: Pick<Catalogue, 'current'>
  readonly clock: Clock
}

export function createConsentGate({ storage, catalogue, clock }: ConsentGateDeps): ConsentGate {
  /** What a call needs consent for, each with the resource that it is about. */
  function asksOf({ tool, input, config }: GatedCall): Promise<ConsentAsk[]> {
    const call = { tool: tool.name, input, config }
    const asks = tool.consent.map(async name => {
      const operation = definitionOf(tool, name)
      const { reason, weight } = operation
      return { operation: name, reason, weight, ...(await scopeOf(operation, call, clock)) }
    })
    return Promise.all(asks)
  }

  function definitionOf(tool: Tool, name: string): ConsentOperationDefinition {
    const operation = catalogue.current().consentOperations.get(name)
    // Definitions are checked when they load; if one vanished meanwhile, consent is still required.
    if (!operation) throw new AppError('DEFINITION_INVALID', `"${tool.name}" needs "${name}", which is not defined.`)
    return operation
  }

  return {
    async decide(call) {
      const { operationId, session, tool, digest, consented } = call
      const { store } = await storage.open()
      const asks = await asksOf(call)
      const now = Math.round(clock.now())
      return decideConsent({
        operationId,
        tool: tool.name,
        digest,
        asks,
        snapshot: new Set(
          allowableForGood(session.agent()?.consent?.allow ?? [], catalogue.current().consentOperations),
        ),
        // An answer to other arguments is no answer: allowing one deletion must not allow any.
        allowedNow: new Set(consented?.digest === digest ? consented.operations : []),
        grants: await findGrants(
          store,
          { caller: session.caller, asks, operationId },
          { expiresAt: { above: now }, revokedAt: null },
        ),
        now,
      })
    },
    async isTakenBack({ operationId, session }, asks, since) {
      const { store } = await storage.open()
      // From the moment before on: what was taken back in it may be what this call was begun with.
      const where = { decision: 'allow' as const, revokedAt: { above: since - 1 } }
      const grants = await findGrants(store, { caller: session.caller, asks, operationId }, where)
      return isTakenBack({ operationId, asks, grants }, since)
    },
  }
}

/** The error for a caller that cannot wait, with all that is missing. */
export function consentRequired(tool: Tool, asks: readonly ConsentAsk[], digest: string): AppError {
  const names = asks.map(({ operation, weight, reason }) => `"${operation}" (${weight}): ${reason}`)
  const message =
    `"${tool.name}" needs a person's consent for ${names.join(', ')} ` +
    `The owner can answer at the terminal with \`quartermaster call\`, or allow it permanently with \`quartermaster grant AGENT ${tool.capability} --consent NAME\`.`
  const operations = asks.map(({ operation: name, reason, weight }) => ({ name, reason, weight }))
  return new AppError('CONSENT_REQUIRED', message, { details: { tool: tool.name, digest, operations } })
}

export function consentDenied({ name }: Tool, { operation, grantedBy }: GrantRow): AppError {
  const message = `"${name}" is not allowed: ${grantedBy} has said no to "${operation}".`
  return new AppError('CONSENT_DENIED', message, { details: { tool: name, operation } })
}

/** The error for a call that was allowed when it began. An earlier run of it may have done it: then only a look tells. */
export function consentTakenBack(tool: string, earlier?: Pick<OperationRow, 'outcome'>): AppError {
  const when = earlier && mayBeDone(earlier) ? '.' : ' before it could be done. Call it again to ask again.'
  return new AppError('CONSENT_DENIED', `What allowed "${tool}" was taken back${when}`, { details: { tool } })
}

/** Whether a client may be asked at all: its answer is only its word. */
export function mayAskClient(asks: readonly ConsentAsk[]): boolean {
  return asks.every(({ weight }) => weight !== 'high')
}

/**
 * What the person in front of a client is asked: everything at once, and as exactly as at a terminal. Text of others stands on
 * one line each, so that none of it can pass for part of the question. The resource is left out: the answer is valid for these
 * arguments alone, and a client need not know where on this machine they lead.
 */
export function clientQuestion({ operationId, tool, asks, input }: AskedCall): PersonQuestion {
  const message = [
    `Allow "${escapeLine(tool)}" this once?`,
    ...asks.map(askText),
    'Arguments, exactly (· is a space, escapes are characters that cannot be seen):',
    toVisibleJson(input ?? {}, '  '),
  ].join('\n')
  return { key: 'consent', message, schema: SCHEMA, shownFirst: true, consentFor: operationId }
}

/** A call, and what a person is asked about it. */
interface AskedCall {
  readonly operationId: string
  readonly tool: string
  readonly asks: readonly ConsentAsk[]
  readonly input: unknown
}

function askText({ operation, weight, reason }: ConsentAsk): string {
  return `${escapeLine(operation)} (${weight}): ${escapeLine(reason)}`
}

const SCHEMA = {
  type: 'object',
  properties: { allow: { type: 'boolean', title: 'Allow', description: 'Whether it may be done, this once.' } },
  required: ['allow'],
}

/** What an answer of a client says; nothing when it says nothing. */
export function clientAnswer(answer: {
  action: string
  content?: Readonly<Record<string, unknown>> | undefined
}): ConsentAnswer | undefined {
  if (answer.action === 'decline') return { decision: 'deny', lasting: 'once' }
  if (answer.action !== 'accept' || typeof answer.content?.allow !== 'boolean') return undefined
  return { decision: answer.content.allow ? 'allow' : 'deny', lasting: 'once' }
}
