import type { PinKind, PinRow, Problem, ReviewItem, UpstreamConfig, UpstreamFinding } from '../../contracts/index.ts'
import { type Steps, upstreamUnit } from '../kernel/index.ts'
import { differencesBetween } from './diff.ts'
import { excerptOf } from './visible-text.ts'

/** What the configuration lets happen without a person. */
export type PinPolicy = Pick<UpstreamConfig, 'newTools' | 'findings'>

/** What a definition is known by to agents, and since when without a break. */
export interface NameClaim {
  /** `undefined` for whatever name it has. */
  readonly as: string | undefined
  readonly since: number
}

/** Something of a server that may be offered. */
export interface OfferedDefinition {
  readonly kind: PinKind
  readonly name: string
  readonly hash: string
  readonly value: Readonly<Record<string, unknown>>
  /** The name that it is on record with, if it is with any. */
  readonly claim?: NameClaim | undefined
  /** Something was found in it that no person has reviewed. */
  readonly isWarned?: boolean
}

/** Why something is not offered. */
export type HeldState = Exclude<ReviewItem['state'], 'warned' | 'offered'>

/** Something of a server that waits for a person, or that a person refused. */
export interface HeldDefinition {
  readonly kind: PinKind
  readonly name: string
  readonly state: HeldState
  readonly reason: string
  /** It was offered in the form that it had before, and is again as soon as it has that. */
  readonly isChange?: boolean
  /** The name that it is on record with, if it is with any. */
  readonly claim?: NameClaim | undefined
}

/** What becomes of the definitions of a server. */
export interface ReviewedListing {
  readonly offered: readonly OfferedDefinition[]
  readonly held: readonly HeldDefinition[]
  /** Tools that it had once and lists no more, by name. */
  readonly gone: readonly string[]
  /** What it has and does not list, so that none of that is used: `tools`, `prompts`. */
  readonly unlisted?: readonly string[]
  /** It lists more than is used. Not known of a server that has not answered yet. */
  readonly isCut?: true
  readonly problems: readonly Problem[]
}

/** What is offered of a server that is not there, or has not answered yet. In steps: there may be much to parse. */
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

/** Why a pin is not offered; `undefined` for one that is. */
export function heldState(pin: Pick<PinRow, 'state' | 'acceptedHash' | 'findings'>): HeldState | undefined {
  if (pin.state === 'accepted') return undefined
  if (pin.state === 'rejected') return 'rejected'
  if (pin.acceptedHash !== null) return 'changed'
  return isSuspicious(pin.findings) ? 'suspicious' : 'new'
}

/** Whether it is offered although a finding in it was not reviewed. */
export function isWarned({ state, findings, decidedAt }: Pick<PinRow, 'state' | 'findings' | 'decidedAt'>): boolean {
  return state === 'accepted' && findings.length > 0 && decidedAt === null
}

/** Whether it waits for a decision. What a person has rejected does not wait, and causes no reminder. */
export function isWaiting({ state }: Pick<HeldDefinition, 'state'>): boolean {
  return state !== 'rejected'
}

/** Whether a person has to look at it, by what was found. */
export function isSuspicious(findings: readonly UpstreamFinding[]): boolean {
  return findings.some(({ strength }) => strength === 'strong')
}

interface VerdictParts {
  readonly policy: PinPolicy
  /** What its definition says. Parsing all of them again would take long. */
  valueOf(pin: PinRow): OfferedDefinition['value']
}

/** What the server has, and what it had. */
interface SeenPins {
  readonly present: readonly PinRow[]
  readonly absent: readonly PinRow[]
}

/** What these pins come to. */
export function reviewListing(
  upstream: string,
  { present, absent }: SeenPins,
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
  /** With the definitions themselves, of which differences show only so much. */
  readonly whole?: true | undefined
  /** Also what is offered, so that a person can take it back. */
  readonly offered?: true | undefined
}

/** To compare two long texts takes a while, and a server may have many. */
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

export function byPlace(a: ReviewItem, b: ReviewItem): number {
  const [first, second] = [a, b].map(({ upstream, kind, name }) => `${upstream}\n${kind}\n${name}`) as [string, string]
  return first < second ? -1 : Number(first > second)
}

/** A pin in which more is found than before. */
export interface SecondFinding {
  readonly before: PinRow
  readonly findings: readonly UpstreamFinding[]
  readonly state: PinRow['state']
}

/**
 * What becomes of a pin that was looked at again because there are tools that it speaks of. What is offered stays so unless it
 * speaks of them as no tool should; earlier findings stay. Nothing where there is nothing new.
 */
export function lookedAgain(
  before: PinRow,
  found: readonly UpstreamFinding[],
  policy: PinPolicy,
): SecondFinding | undefined {
  const known = new Set(before.findings.map(keyOf))
  const fresh = found.filter(finding => OF_NAMES.has(finding.rule) && !known.has(keyOf(finding)))
  if (fresh.length === 0) return undefined
  const again = new Set(found.map(placeOf))
  const findings = [...found, ...before.findings.filter(finding => !again.has(placeOf(finding)))].slice(0, MOST)
  const isHeld = before.state === 'accepted' && policy.findings === 'hold' && isSuspicious(fresh)
  return { before, findings, state: isHeld ? 'pending' : before.state }
}

/** What depends on which tools there are. */
const OF_NAMES: ReadonlySet<UpstreamFinding['rule']> = new Set(['otherTool', 'lookalike'])
/** As many as are told of any definition. */
const MOST = 20

const placeOf = ({ rule, field, message }: UpstreamFinding) => `${rule} ${field} ${message}`
const keyOf = (finding: UpstreamFinding) => `${finding.strength} ${placeOf(finding)}`
