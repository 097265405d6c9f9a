import {
  type AnsweredVia,
  AppError,
  type AuditEntry,
  type ConsentAsk,
  type GrantRow,
  type OperationRow,
  type PersonQuestion,
} from '../../../contracts/index.ts'
import { type AgentSession } from '../../agents/index.ts'
import {
  allowableForGood,
  type Catalogue,
  type ConsentOperationDefinition,
  type ScopedCall,
  type ScopeFunction,
  type Tool,
} from '../../catalogue/index.ts'
import { type Clock, escapeLine, toVisibleJson } from '../../kernel/index.ts'
import { type StorageAccess } from '../record/operation-storage.ts'
import { mayBeDone } from '../record/verify-after-failure.ts'
import { type ConsentAnswer } from './consent-service.ts'
import { type ConsentedOnce, findGrants } from './grants.ts'

/** What is known when a call asks whether it may be done. */
export interface ConsentQuestion {
  readonly operationId: string
  readonly tool: string
  readonly digest: string
  readonly asks: readonly ConsentAsk[]
  /** Consent operations that the owner allows in the agent's file. */
  readonly snapshot: ReadonlySet<string>
  /** What the owner allowed at the terminal, for this call. */
  readonly allowedNow: ReadonlySet<string>
  /** Of this caller; dead ones may be among them. */
  readonly grants: readonly GrantRow[]
  readonly now: number
}

/** Who allowed a call, when consent was needed. */
export type Consent = NonNullable<AuditEntry['consent']>

export type ConsentDecision =
  /** With what has to be true, and is used up, when the run is leased. */
  | { readonly kind: 'allowed'; readonly consent: Consent; readonly grants: readonly GrantRow[] }
  | { readonly kind: 'denied'; readonly grant: GrantRow }
  | { readonly kind: 'missing'; readonly asks: readonly ConsentAsk[] }

/**
 * Whether people allowed what a call does. Each need is judged separately: what was allowed for one resource, tool or set of
 * arguments says nothing about another, and a no outweighs any yes.
 */
export function decideConsent(question: ConsentQuestion): ConsentDecision {
  const live = question.grants.filter(grant => isLive(grant, question))
  const forbidding = live.find(grant => grant.decision === 'deny' && question.asks.some(ask => covers(grant, ask)))
  if (forbidding) return { kind: 'denied', grant: forbidding }
  const judged = question.asks.map(ask => ({ ask, by: allowedBy(ask, live, question) }))
  const missing = judged.filter(({ by }) => by === undefined).map(({ ask }) => ask)
  if (missing.length > 0) return { kind: 'missing', asks: missing }
  const grants = judged.flatMap(({ by }) => (typeof by === 'object' ? [by] : []))
  const operations = question.asks.map(({ operation }) => operation)
  return { kind: 'allowed', consent: { operations, by: namedFirst(judged.map(({ by }) => by)) }, grants }
}

/**
 * Whether one of these grants is a yes to what is asked that a person has taken back since then. That is a no; a yes that has
 * only run out is not.
 */
export function isRevoked(
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

/** Who answers, or takes back. */
export interface Answerer {
  readonly name: string
  readonly via: AnsweredVia
}

/** Who decided, as the audit says it. */
export function byWhom({ via, name }: Answerer): string {
  return via === 'owner' ? 'owner' : `${via} ${name}`
}

/** What allows one thing that a call needs, if anything does. */
type Allowance = 'file' | 'owner' | GrantRow | undefined

function allowedBy(ask: ConsentAsk, live: readonly GrantRow[], { snapshot, allowedNow }: ConsentQuestion): Allowance {
  if (snapshot.has(ask.operation) && !mayBeForbidden(ask, live)) return 'file'
  if (allowedNow.has(ask.operation)) return 'owner'
  const fitting = live.filter(grant => grant.decision === 'allow' && covers(grant, ask))
  // A lasting grant is not used up, so it goes first.
  return fitting.find(({ lasting }) => lasting !== 'once') ?? fitting[0]
}

/** A call whose subject cannot be determined may be one that was forbidden. */
function mayBeForbidden({ operation, grantable }: ConsentAsk, live: readonly GrantRow[]): boolean {
  return grantable === 'once' && live.some(grant => grant.decision === 'deny' && grant.operation === operation)
}

/** Whether the grant is valid now, for this call. */
function isLive(grant: GrantRow, { operationId, tool, digest, now }: ConsentQuestion): boolean {
  if (grant.revokedAt !== null || grant.expiresAt <= now) return false
  if (grant.lasting !== 'once') return true
  // It was given to one operation, which may be retried with it. No other operation may use it, not even with the same arguments.
  const isOwn = grant.askedFor === operationId && (grant.usedBy === null || grant.usedBy === operationId)
  return isOwn && grant.tool === tool && grant.digest === digest
}

function covers({ operation, scope, lasting, decision, via }: GrantRow, ask: ConsentAsk): boolean {
  if (operation !== ask.operation) return false
  // A client's word does not reach what has become weightier since it was asked.
  if (via === 'client' && decision === 'allow' && ask.weight === 'high') return false
  // What a call is about can change while it waits, with the agent's folders for example; that one was not allowed.
  if (scope !== ask.scope) return false
  // What may be allowed only once is not allowed by a lasting grant, no matter its author. A no may last.
  return lasting === 'once' || decision === 'deny' || ask.grantable === 'any'
}

/** The person who answered comes first, even where the file allows the rest: an answer is about this call. */
function namedFirst(allowed: readonly Allowance[]): string {
  const grant = allowed.find(by => typeof by === 'object')
  if (grant) return byWhom({ via: grant.via, name: grant.grantedBy })
  return allowed.includes('owner') ? 'owner' : 'file'
}

/**
 * The resource that a call is about, by the template of its consent operation; nothing when its arguments do not say. Two calls
 * get the same text only where all values are the same: texts that could be taken for something else are quoted.
 */
export function resourceOf(template: string, input: unknown): string | undefined {
  const isAlone = (template.match(PLACEHOLDER) ?? []).length === 1
  let isWhole = true
  const text = template.replace(PLACEHOLDER, (gap: string, path: string, at: number) => {
    const value = valueAt(input, path.trim().split('.'))
    if (value === undefined) isWhole = false
    if (typeof value === 'string') return isAlone && !isMistakable(value) ? value : quoted(value)
    return isAlone || ENDS_A_VALUE.test(template.slice(at + gap.length)) ? String(value) : `(${value})`
  })
  return isWhole ? text : undefined
}

const PLACEHOLDER = /\{([^{}]+)\}/g

/** What cannot be a part of the number, yes or no before it. */
const ENDS_A_VALUE = /^($|[^\w.+{-])/

/** Only what is one text, number, yes or no names a resource; whatever else there is could mean several. */
function valueAt(input: unknown, path: readonly string[]): string | number | boolean | undefined {
  let value: unknown = input
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
}

/** Whether a text reads like a number, like yes or no, or like one in quotes. */
function isMistakable(text: string): boolean {
  return text.startsWith("'") || text === 'true' || text === 'false' || text === String(Number(text))
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

/** For what an answer may be given: where the resource cannot be told, for this call alone. */
export async function scopeOf(
  { scope, grantable = 'any' }: Pick<ConsentOperationDefinition, 'scope' | 'grantable'>,
  call: ScopedCall,
  clock: Pick<Clock, 'after'>,
): Promise<{ readonly scope: string | null; readonly grantable: 'any' | 'once' }> {
  if (scope === undefined) return { scope: null, grantable }
  const resource = typeof scope === 'string' ? resourceOf(scope, call.input) : await namedBy(scope, call, clock)
  return resource === undefined ? { scope: null, grantable: 'once' } : { scope: resource, grantable }
}

/** A caller that waits for other consent must not wait for code that does not return. */
const LONGEST_MS = 5_000
/** About two paths of the longest that there are. */
const LONGEST_TEXT = 8_192

/**
 * What code says. Whatever goes wrong there is no resource: the call can be allowed for itself, and nothing that was allowed
 * for a resource or for all allows it.
 */
async function namedBy(
  scope: ScopeFunction,
  call: ScopedCall,
  clock: Pick<Clock, 'after'>,
): Promise<string | undefined> {
  let cancel = () => {}
  const late = new Promise<undefined>(resolve => {
    cancel = clock.after(LONGEST_MS, () => resolve(undefined))
  })
  try {
    const named: unknown = await Promise.race([scope(call), late])
    return typeof named === 'string' && named !== '' && named.length <= LONGEST_TEXT ? named : undefined
  } catch {
    // It cannot tell, which is what it may say as well.
    return undefined
  } finally {
    cancel()
  }
}

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
    async isRevoked({ operationId, session }, asks, since) {
      const { store } = await storage.open()
      // From the moment before on: what was taken back in it may be what this call was begun with.
      const where = { decision: 'allow' as const, revokedAt: { above: since - 1 } }
      const grants = await findGrants(store, { caller: session.caller, asks, operationId }, where)
      return isRevoked({ operationId, asks, grants }, since)
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
export function consentRevoked(tool: string, earlier?: Pick<OperationRow, 'outcome'>): AppError {
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
