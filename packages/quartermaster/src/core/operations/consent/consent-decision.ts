import {
  AppError,
  type AuditEntry,
  type ConsentAsk,
  type GrantRow,
  type OperationRow,
  type PersonQuestion,
} from '../../../contracts/index.ts'
import { type AgentSession } from '../../agents/index.ts'
import {
  allowableAlways,
  type Catalogue,
  type ConsentOperationDefinition,
  type ScopedCall,
  type ScopeFunction,
  type Tool,
} from '../../catalogue/index.ts'
import { type Clock, escapeLine, toVisibleJson } from '../../kernel/index.ts'
import { type StorageAccess } from '../record/operation-storage.ts'
import { mayBeDone } from '../record/verify-after-failure.ts'
import { type Answerer, type ConsentAnswer, type ConsentedOnce, findGrants } from './grants.ts'

/** A call that may need a person's consent. */
interface GatedCall {
  readonly operationId: string
  readonly session: Pick<AgentSession, 'caller' | 'agent'>
  readonly tool: Tool
  /** The configuration that the tool's handler gets. */
  readonly config: unknown
  readonly digest: string
  readonly input: unknown
  /** What the owner allowed at the terminal, for exactly these arguments. */
  readonly consented: ConsentedOnce | undefined
}

/** Decides whether people have allowed a call. */
export interface ConsentGate {
  decide(call: GatedCall): Promise<ConsentDecision>
  /** Whether a person has revoked since then what allowed any of these asks. */
  isRevoked(call: GatedCall, asks: readonly ConsentAsk[], since: number): Promise<boolean>
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
      const wanted = { caller: session.caller, asks, operationId }
      return decideConsent({
        operationId,
        tool: tool.name,
        digest,
        asks,
        snapshot: new Set(
          allowableAlways(session.agent()?.consent?.allow ?? [], catalogue.current().consentOperations),
        ),
        // An answer for other arguments is no answer: allowing one deletion must not allow any.
        allowedNow: new Set(consented?.digest === digest ? consented.operations : []),
        grants: await findGrants(store, wanted, { expiresAt: { above: now }, revokedAt: null }),
        now,
      })
    },
    async isRevoked({ operationId, session }, asks, since) {
      const { store } = await storage.open()
      // One millisecond before: a grant revoked at `since` may be the one that this call began with.
      const where = { decision: 'allow' as const, revokedAt: { above: since - 1 } }
      const grants = await findGrants(store, { caller: session.caller, asks, operationId }, where)
      return hasRevokedGrant({ operationId, asks, grants }, since)
    },
  }
}

/** Everything that a consent decision depends on. */
export interface ConsentQuestion {
  readonly operationId: string
  readonly tool: string
  readonly digest: string
  readonly asks: readonly ConsentAsk[]
  /** Consent operations that the owner allows in the agent's file. */
  readonly snapshot: ReadonlySet<string>
  /** Consent operations that the owner allowed at the terminal, for this call. */
  readonly allowedNow: ReadonlySet<string>
  /** Grants of this caller, valid or not. */
  readonly grants: readonly GrantRow[]
  readonly now: number
}

/** Who allowed a call that needed consent. */
export type Consent = NonNullable<AuditEntry['consent']>

export type ConsentDecision =
  /** The grants must still be valid, and are used up, when the run is leased. */
  | { readonly kind: 'allowed'; readonly consent: Consent; readonly grants: readonly GrantRow[] }
  | { readonly kind: 'denied'; readonly grant: GrantRow }
  | { readonly kind: 'missing'; readonly asks: readonly ConsentAsk[] }

/**
 * Decides each ask separately: a grant for one resource, tool or set of arguments says nothing about another, and one denial
 * outweighs any grant.
 */
export function decideConsent(question: ConsentQuestion): ConsentDecision {
  const live = question.grants.filter(grant => isLive(grant, question))
  const denial = live.find(grant => grant.decision === 'deny' && question.asks.some(ask => covers(grant, ask)))
  if (denial) return { kind: 'denied', grant: denial }
  const decided = question.asks.map(ask => ({ ask, by: allowedBy(ask, live, question) }))
  const missing = decided.filter(({ by }) => by === undefined).map(({ ask }) => ask)
  if (missing.length > 0) return { kind: 'missing', asks: missing }
  const grants = decided.flatMap(({ by }) => (typeof by === 'object' ? [by] : []))
  const operations = question.asks.map(({ operation }) => operation)
  return { kind: 'allowed', consent: { operations, by: allowedByName(decided.map(({ by }) => by)) }, grants }
}

/** A revoked grant is a denial; an expired one is not. */
function hasRevokedGrant(
  { operationId, asks, grants }: Pick<ConsentQuestion, 'operationId' | 'asks' | 'grants'>,
  since: number,
): boolean {
  return grants.some(
    grant =>
      grant.decision === 'allow' &&
      grant.revokedAt !== null &&
      grant.revokedAt >= since &&
      (grant.lasting !== 'once' || grant.askedFor === operationId) &&
      asks.some(ask => covers(grant, ask)),
  )
}

/** The name of the person, as the audit shows it. */
export function byWhom({ via, name }: Answerer): string {
  return via === 'owner' ? 'owner' : `${via} ${name}`
}

/** What allows one ask: the agent's file, the owner at the terminal, or a grant. */
type Allowance = 'file' | 'owner' | GrantRow | undefined

function allowedBy(ask: ConsentAsk, live: readonly GrantRow[], { snapshot, allowedNow }: ConsentQuestion): Allowance {
  if (snapshot.has(ask.operation) && !mayBeDenied(ask, live)) return 'file'
  if (allowedNow.has(ask.operation)) return 'owner'
  const fitting = live.filter(grant => grant.decision === 'allow' && covers(grant, ask))
  // A lasting grant is not used up, so it goes first.
  return fitting.find(({ lasting }) => lasting !== 'once') ?? fitting[0]
}

/** A call whose resource is unknown may be about a resource that was denied. */
function mayBeDenied({ operation, grantable }: ConsentAsk, live: readonly GrantRow[]): boolean {
  return grantable === 'once' && live.some(grant => grant.decision === 'deny' && grant.operation === operation)
}

/** Whether the grant is valid now, for this call. */
function isLive(grant: GrantRow, { operationId, tool, digest, now }: ConsentQuestion): boolean {
  if (grant.revokedAt !== null || grant.expiresAt <= now) return false
  if (grant.lasting !== 'once') return true
  // It belongs to one operation, which may be retried with it; no other may use it, not even with the same arguments.
  const isOwn = grant.askedFor === operationId && (grant.usedBy === null || grant.usedBy === operationId)
  return isOwn && grant.tool === tool && grant.digest === digest
}

function covers({ operation, scope, lasting, decision, via }: GrantRow, ask: ConsentAsk): boolean {
  if (operation !== ask.operation) return false
  // A client's answer does not cover an operation that has become high in weight since.
  if (via === 'client' && decision === 'allow' && ask.weight === 'high') return false
  // The resource of a waiting call can change, for example with the agent's folders; the new one was not allowed.
  if (scope !== ask.scope) return false
  // A lasting grant never allows what may only be allowed once. A denial may last.
  return lasting === 'once' || decision === 'deny' || ask.grantable === 'any'
}

/** The person who answered comes first, even where the file allows the rest: the answer is about this call. */
function allowedByName(allowed: readonly Allowance[]): string {
  const grant = allowed.find(by => typeof by === 'object')
  if (grant) return byWhom({ via: grant.via, name: grant.grantedBy })
  return allowed.includes('owner') ? 'owner' : 'file'
}

/**
 * The resource that a call is about, by the template of its consent operation; nothing when an argument is missing. Different
 * values never give the same text: ambiguous texts are quoted.
 */
export function resourceOf(template: string, input: unknown): string | undefined {
  const isAlone = (template.match(PLACEHOLDER) ?? []).length === 1
  let isComplete = true
  const text = template.replace(PLACEHOLDER, (placeholder: string, path: string, at: number) => {
    const value = valueAt(input, path.trim().split('.'))
    if (value === undefined) isComplete = false
    if (typeof value === 'string') return isAlone && !isAmbiguous(value) ? value : quoted(value)
    return isAlone || ENDS_A_VALUE.test(template.slice(at + placeholder.length)) ? String(value) : `(${value})`
  })
  return isComplete ? text : undefined
}

const PLACEHOLDER = /\{([^{}]+)\}/g

/** Text that cannot continue the number or boolean before it. */
const ENDS_A_VALUE = /^($|[^\w.+{-])/

/** Only a single text, number or boolean names a resource; anything else could mean several. */
function valueAt(input: unknown, path: readonly string[]): string | number | boolean | undefined {
  let value: unknown = input
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
}

/** Whether a text reads like a number, a boolean, or a quoted text. */
function isAmbiguous(text: string): boolean {
  return text.startsWith("'") || text === 'true' || text === 'false' || text === String(Number(text))
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

/** The resource of a call, and how it may be allowed: where the resource is unknown, for this call alone. */
export async function scopeOf(
  { scope, grantable = 'any' }: Pick<ConsentOperationDefinition, 'scope' | 'grantable'>,
  call: ScopedCall,
  clock: Pick<Clock, 'after'>,
): Promise<{ readonly scope: string | null; readonly grantable: 'any' | 'once' }> {
  if (scope === undefined) return { scope: null, grantable }
  const resource = typeof scope === 'string' ? resourceOf(scope, call.input) : await scopeFromCode(scope, call, clock)
  return resource === undefined ? { scope: null, grantable: 'once' } : { scope: resource, grantable }
}

/** A call must not wait forever for a scope function that does not return. */
const SCOPE_TIMEOUT_MS = 5_000
/** About two paths of the greatest length. */
const LONGEST_SCOPE = 8_192

/** A failed scope function gives no resource: then only a grant for this one call allows it. */
async function scopeFromCode(
  scope: ScopeFunction,
  call: ScopedCall,
  clock: Pick<Clock, 'after'>,
): Promise<string | undefined> {
  let cancel = () => {}
  const late = new Promise<undefined>(resolve => {
    cancel = clock.after(SCOPE_TIMEOUT_MS, () => resolve(undefined))
  })
  try {
    const named: unknown = await Promise.race([scope(call), late])
    return typeof named === 'string' && named !== '' && named.length <= LONGEST_SCOPE ? named : undefined
  } catch {
    // The same as `undefined`, which the function may return.
    return undefined
  } finally {
    cancel()
  }
}

/** The error for a caller that cannot wait, with everything that is missing. */
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

/** The error for a call whose grant was revoked. An earlier run may have done the work, so calling again is not advised then. */
export function consentRevoked(tool: string, earlier?: Pick<OperationRow, 'outcome'>): AppError {
  const when = earlier && mayBeDone(earlier) ? '.' : ' before it could be done. Call it again to ask again.'
  return new AppError('CONSENT_DENIED', `What allowed "${tool}" was taken back${when}`, { details: { tool } })
}

/** Whether the caller's client may be asked: nothing proves that a person answered there. */
export function mayAskClient(asks: readonly ConsentAsk[]): boolean {
  return asks.every(({ weight }) => weight !== 'high')
}

/**
 * The question to the person in front of a client: everything at once, as exactly as at a terminal. Foreign text is escaped onto
 * one line, so that it cannot pass for part of the question. The resource is left out: the answer is valid for these arguments
 * alone, and a client need not know where on this machine they lead.
 */
export function clientQuestion(call: {
  readonly operationId: string
  readonly tool: string
  readonly asks: readonly ConsentAsk[]
  readonly input: unknown
}): PersonQuestion {
  const { operationId, tool, asks, input } = call
  const message = [
    `Allow "${escapeLine(tool)}" this once?`,
    ...asks.map(({ operation, weight, reason }) => `${escapeLine(operation)} (${weight}): ${escapeLine(reason)}`),
    'Arguments, exactly (· is a space, escapes are characters that cannot be seen):',
    toVisibleJson(input ?? {}, '  '),
  ].join('\n')
  return { key: 'consent', message, schema: SCHEMA, shownFirst: true, consentFor: operationId }
}

const SCHEMA = {
  type: 'object',
  properties: { allow: { type: 'boolean', title: 'Allow', description: 'Whether it may be done, this once.' } },
  required: ['allow'],
}

/** The decision in a client's answer; nothing where it is cancelled or malformed. */
export function clientAnswer(answer: {
  action: string
  content?: Readonly<Record<string, unknown>> | undefined
}): ConsentAnswer | undefined {
  if (answer.action === 'decline') return { decision: 'deny', lasting: 'once' }
  if (answer.action !== 'accept' || typeof answer.content?.allow !== 'boolean') return undefined
  return { decision: answer.content.allow ? 'allow' : 'deny', lasting: 'once' }
}
