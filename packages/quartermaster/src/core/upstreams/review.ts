import type { PinKind, PinRow, Problem, ReviewItem, UpstreamConfig, UpstreamFinding } from '../../contracts/index.ts'
import { type Steps, upstreamUnit } from '../kernel/index.ts'
import { differencesBetween } from './diff.ts'
import { excerptOf } from './visible-text.ts'

/** What the configuration allows without a person. */
export type PinPolicy = Pick<UpstreamConfig, 'newTools' | 'findings'>

/** The name under which agents know a definition, and since when. */
export interface NameClaim {
  /** `undefined` where it has no name yet. */
  readonly as: string | undefined
  readonly since: number
}

export interface OfferedDefinition {
  readonly kind: PinKind
  readonly name: string
  readonly hash: string
  readonly value: Readonly<Record<string, unknown>>
  /** Its recorded name. */
  readonly claim?: NameClaim | undefined
  /** It has a finding that no person has reviewed. */
  readonly isWarned?: boolean
}

/** Why a definition is not offered. */
type HeldState = Exclude<ReviewItem['state'], 'warned' | 'offered'>

/** A definition that waits for a person or was rejected. */
export interface HeldDefinition {
  readonly kind: PinKind
  readonly name: string
  readonly state: HeldState
  readonly reason: string
  /** An earlier version was offered, and is again if it comes back. */
  readonly isChange?: boolean
  /** Its recorded name. */
  readonly claim?: NameClaim | undefined
}

/** The reviewed definitions of a server. */
export interface ReviewedListing {
  readonly offered: readonly OfferedDefinition[]
  readonly held: readonly HeldDefinition[]
  /** Names of tools that it no longer lists. */
  readonly gone: readonly string[]
  /** Kinds that could not be listed and are not used: `tools`, `prompts`. */
  readonly unlisted?: readonly string[]
  /** It lists more than is used. Unknown for a server that has not answered yet. */
  readonly isCut?: true
  readonly problems: readonly Problem[]
}

/** What to offer of a server that has not answered yet. In steps, because there may be much to parse. */
export function* offeredFromPins(upstream: string, pins: readonly PinRow[], policy: PinPolicy): Steps<ReviewedListing> {
  const listed = pins.filter(pin => pin.listed)
  const values = new Map<PinRow, OfferedDefinition['value']>()
  for (const pin of listed) {
    values.set(pin, JSON.parse(pin.definition))
    yield
  }
  const absent = pins.filter(pin => !pin.listed)
  return reviewListing(upstream, { present: listed, absent }, { policy, valueOf: pin => values.get(pin) ?? {} })
}

/** Why a pin is not offered; `undefined` for an offered one. */
export function heldState(pin: Pick<PinRow, 'state' | 'acceptedHash' | 'findings'>): HeldState | undefined {
  if (pin.state === 'accepted') return undefined
  if (pin.state === 'rejected') return 'rejected'
  if (pin.acceptedHash !== null) return 'changed'
  return isSuspicious(pin.findings) ? 'suspicious' : 'new'
}

/** Whether it is offered with an unreviewed finding. */
export function isWarned({ state, findings, decidedAt }: Pick<PinRow, 'state' | 'findings' | 'decidedAt'>): boolean {
  return state === 'accepted' && findings.length > 0 && decidedAt === null
}

/** Whether it waits for a decision. A rejected definition does not, and causes no reminder. */
export function isWaiting({ state }: Pick<HeldDefinition, 'state'>): boolean {
  return state !== 'rejected'
}

/** Whether a finding needs a person. */
export function isSuspicious(findings: readonly UpstreamFinding[]): boolean {
  return findings.some(({ strength }) => strength === 'strong')
}

interface VerdictParts {
  readonly policy: PinPolicy
  /** The definition, from memory: parsing all of them again takes long. */
  valueOf(pin: PinRow): OfferedDefinition['value']
}

/** The state of these pins as a listing. */
export function reviewListing(
  upstream: string,
  { present, absent }: { present: readonly PinRow[]; absent: readonly PinRow[] },
  { policy, valueOf }: VerdictParts,
): ReviewedListing {
  const taken = present.filter(pin => pin.state === 'accepted')
  const warned = new Set(policy.findings === 'allow' ? [] : taken.filter(isWarned))
  return {
    offered: taken.map(pin => ({
      kind: pin.kind,
      name: pin.name,
      hash: pin.hash,
      value: valueOf(pin),
      ...claimOf(pin),
      ...(warned.has(pin) ? { isWarned: true } : {}),
    })),
    held: present.flatMap(pin => heldDefinition(upstream, pin) ?? []),
    gone: absent.filter(({ kind }) => kind === 'tool').map(({ name }) => name),
    problems: [...warned].flatMap(pin => warningAbout(upstream, pin) ?? []),
  }
}

function heldDefinition(upstream: string, pin: PinRow): HeldDefinition | undefined {
  const state = heldState(pin)
  if (state === undefined) return undefined
  const next = `quartermaster upstreams review ${upstream}`
  const { kind, name, acceptedHash } = pin
  const change = acceptedHash === null ? {} : { isChange: true }
  return { kind, name, state, reason: `${REASONS[state]} See \`${next}\`.`, ...change, ...claimOf(pin) }
}

const REASONS = {
  new: 'The server added it or put it in other words after the first look, and no person has reviewed it yet.',
  changed: 'The server changed it, and no person has reviewed it yet.',
  suspicious: 'Its definition seems to steer the model, and no person has reviewed it yet.',
  rejected: 'It was looked at and refused.',
} as const satisfies Record<HeldState, string>

function warningAbout(upstream: string, { kind, name, findings }: PinRow): Problem | undefined {
  const [first] = findings.toSorted((a, b) => Number(a.strength === 'weak') - Number(b.strength === 'weak'))
  if (!first) return undefined
  const more = findings.length > 1 ? ` (and ${findings.length - 1} more)` : ''
  return {
    severity: 'warning',
    code: 'DEFINITION_INVALID',
    where: upstreamUnit(upstream),
    subject: `${kind}:${excerptOf(name)}`,
    field: first.field,
    message: `The ${kind} "${excerptOf(name)}" of "${upstream}": ${first.message}${more} It reads: ${first.excerpt}`,
    fix: `Look at it, and accept or reject it: quartermaster upstreams review ${upstream}`,
  }
}

function claimOf({ offeredAs, offeredSince }: PinRow): { claim?: NameClaim } {
  return offeredSince === null ? {} : { claim: { as: offeredAs ?? undefined, since: offeredSince } }
}

export interface ListOptions {
  /** With whole definitions; differences show only a part. */
  readonly whole?: true | undefined
  /** With offered definitions, so that a person can reject them. */
  readonly offered?: true | undefined
}

/** In steps: comparing long texts takes a while. */
export function* itemsOf(pins: readonly PinRow[], { whole }: ListOptions): Steps<ReviewItem[]> {
  const items: ReviewItem[] = []
  for (const pin of pins) {
    items.push(whole ? { ...toItem(pin), ...wholeOf(pin) } : toItem(pin))
    yield
  }
  return items
}

function toItem(pin: PinRow): ReviewItem {
  const { upstream, kind, name, hash, findings, seenAt, acceptedDefinition, definition } = pin
  return {
    upstream,
    kind,
    name,
    state: heldState(pin) ?? (isWarned(pin) ? 'warned' : 'offered'),
    hash,
    findings,
    changes: differencesBetween(acceptedDefinition, definition),
    seenAt,
  }
}

function wholeOf({ acceptedDefinition, definition }: PinRow): Pick<ReviewItem, 'accepted' | 'definition'> {
  return acceptedDefinition === null ? { definition } : { accepted: acceptedDefinition, definition }
}

export function compareItems(a: ReviewItem, b: ReviewItem): number {
  const [first, second] = [a, b].map(({ upstream, kind, name }) => `${upstream}\n${kind}\n${name}`) as [string, string]
  return first < second ? -1 : Number(first > second)
}

/** A pin with new findings. */
export interface SecondFinding {
  readonly before: PinRow
  readonly findings: readonly UpstreamFinding[]
  readonly state: PinRow['state']
}

/**
 * A pin after a second check against other tools, or nothing if it has no new finding. An offered one stays offered unless a
 * new finding is strong; earlier findings stay.
 */
export function recheckedPin(
  before: PinRow,
  found: readonly UpstreamFinding[],
  policy: PinPolicy,
): SecondFinding | undefined {
  const known = new Set(before.findings.map(keyOf))
  const fresh = found.filter(finding => OF_NAMES.has(finding.rule) && !known.has(keyOf(finding)))
  if (fresh.length === 0) return undefined
  const again = new Set(found.map(findingKey))
  const findings = [...found, ...before.findings.filter(finding => !again.has(findingKey(finding)))].slice(0, MOST)
  const isHeld = before.state === 'accepted' && policy.findings === 'hold' && isSuspicious(fresh)
  return { before, findings, state: isHeld ? 'pending' : before.state }
}

/** Rules that depend on the tools of others. */
const OF_NAMES: ReadonlySet<UpstreamFinding['rule']> = new Set(['otherTool', 'lookalike'])
/** The most findings of one definition. */
const MOST = 20

const findingKey = ({ rule, field, message }: UpstreamFinding) => `${rule} ${field} ${message}`
const keyOf = (finding: UpstreamFinding) => `${finding.strength} ${findingKey(finding)}`
