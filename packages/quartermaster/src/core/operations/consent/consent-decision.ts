import { type AnsweredVia, type AuditEntry, type ConsentAsk, type GrantRow } from '../../../contracts/index.ts'
import { type ConsentOperationDefinition, type ScopedCall, type ScopeFunction } from '../../catalogue/index.ts'
import { type Clock } from '../../kernel/index.ts'

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
export function isTakenBack(
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
