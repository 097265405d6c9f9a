import {
  PinKind,
  type PinRow,
  type Problem,
  type ReviewItem,
  type UpstreamConfig,
  type UpstreamFinding,
} from '../../contracts/index.ts'
import type { Digest, Steps } from '../kernel/index.ts'
import { LISTING_LIMITS, type ListingLimits, type ReadListing, type SeenDefinition } from './listing.ts'
import { excerptOf } from './visible-text.ts'

/** What the configuration lets happen without a person. */
export type PinPolicy = Pick<UpstreamConfig, 'newTools' | 'findings'>

/** Something of a server that may be offered. */
export interface OfferedDefinition {
  readonly kind: PinKind
  readonly name: string
  readonly hash: string
  readonly value: Readonly<Record<string, unknown>>
}

/** Something of a server that waits for a person, or that a person refused. */
export interface HeldDefinition {
  readonly kind: PinKind
  readonly name: string
  readonly state: ReviewItem['state']
  readonly reason: string
}

/** What becomes of the definitions of a server. */
export interface Verdict {
  readonly offered: readonly OfferedDefinition[]
  readonly held: readonly HeldDefinition[]
  readonly problems: readonly Problem[]
}

/** One change of the pins. It holds only while the pin is what it was. */
export type PinWrite =
  | { readonly kind: 'add'; readonly pin: PinRow }
  | { readonly kind: 'change'; readonly before: PinRow; readonly pin: PinRow }
  | { readonly kind: 'drop'; readonly before: PinRow }

/** A verdict, and what becomes of the pins with it. */
export interface Judgement extends Verdict {
  readonly writes: readonly PinWrite[]
  /** Pins that it rests on and leaves as they are: it holds only while they are so. */
  readonly standing: readonly PinRow[]
}

export interface JudgeOptions {
  readonly upstream: string
  readonly seen: ReadListing
  /** All of this upstream. */
  readonly pins: readonly PinRow[]
  readonly policy: PinPolicy
  /** What there is to know about a definition before it is offered. Asked only for what is new or changed. */
  findings(definition: SeenDefinition): readonly UpstreamFinding[]
  readonly now: number
  readonly digest: Digest
  readonly limits?: ListingLimits | undefined
}

/**
 * Decides what a server may offer. What is seen first is accepted unless it looks like an attack; what comes or changes
 * later waits for a person; what was accepted once and is back is offered at once. Nothing that is held is offered in its
 * old form: the server would run the new one under the old description.
 */
export function judge(options: JudgeOptions): Judgement {
  const { seen, pins, upstream } = options
  const known = new Map(pins.map(pin => [pin.id, pin]))
  const listed = listedBefore(pins)
  const writes: PinWrite[] = []
  const here: PinRow[] = []
  for (const definition of seen.definitions) {
    const id = pinId(options.digest, upstream, definition)
    const before = known.get(id)
    known.delete(id)
    const isFirstSight = !listed.has(definition.kind)
    const seenPin = before ? nextPin(before, definition, options) : firstPin(id, definition, isFirstSight, options)
    const pin = definition.kind === 'server' ? withKinds(seenPin, listed, seen.kinds) : seenPin
    here.push(pin)
    if (!before) writes.push({ kind: 'add', pin })
    else if (pin !== before) writes.push({ kind: 'change', before, pin })
  }
  const unlisted = [...known.values()].filter(pin => !seen.kinds.has(pin.kind))
  const gone = [...known.values()].filter(pin => seen.kinds.has(pin.kind))
  writes.push(...parted(gone, [...here, ...unlisted], options.limits))
  const values = new Map(here.map((pin, index) => [pin, seen.definitions[index]?.value]))
  const valueOf = (pin: PinRow) => values.get(pin) ?? JSON.parse(pin.definition)
  const { offered, held, problems } = verdictOn(upstream, [...here, ...unlisted], { ...options, valueOf })
  const unchanged = new Set(pins)
  const standing = [...here.filter(pin => unchanged.has(pin)), ...unlisted]
  return { offered, held, problems: [...seen.problems, ...problems], writes, standing }
}

/**
 * What a server has listed before: the first list of a kind is its first sight, however late it comes. A server whose
 * tools could not be listed at first would otherwise seem to have added every one of them.
 */
function listedBefore(pins: readonly PinRow[]): ReadonlySet<PinKind> {
  if (pins.length === 0) return new Set()
  const server = pins.find(({ kind }) => kind === 'server')
  const noted = server ? (server.listedKinds ?? PinKind.options) : ['server' as const]
  return new Set([...noted, ...pins.map(({ kind }) => kind)])
}

function withKinds(pin: PinRow, before: ReadonlySet<PinKind>, now: ReadonlySet<PinKind>): PinRow {
  const kinds = PinKind.options.filter(kind => before.has(kind) || now.has(kind))
  return pin.listedKinds?.length === kinds.length ? pin : { ...pin, listedKinds: kinds }
}

/** What is offered of a server that is not there, or has not answered yet. In steps: there may be much to parse. */
export function* offeredFromPins(upstream: string, pins: readonly PinRow[], policy: PinPolicy): Steps<Verdict> {
  const listed = pins.filter(pin => pin.listed)
  const values = new Map<PinRow, OfferedDefinition['value']>()
  for (const pin of listed) {
    values.set(pin, JSON.parse(pin.definition))
    yield
  }
  return verdictOn(upstream, listed, { policy, valueOf: pin => values.get(pin) ?? {} })
}

/** Why a pin is not offered; `undefined` for one that is. */
export function heldState(pin: Pick<PinRow, 'state' | 'acceptedHash' | 'findings'>): ReviewItem['state'] | undefined {
  if (pin.state === 'accepted') return undefined
  if (pin.state === 'rejected') return 'rejected'
  if (pin.acceptedHash !== null) return 'changed'
  return isSuspicious(pin.findings) ? 'suspicious' : 'new'
}

/** Whether nobody has decided about it yet. What a person has rejected waits for nobody, and no one is reminded of it. */
export function isWaiting({ state }: Pick<HeldDefinition, 'state'>): boolean {
  return state !== 'rejected'
}

/** The same for everything of that kind and name: whoever adds it twice finds it taken. */
export function pinId(digest: Digest, upstream: string, { kind, name }: { kind: PinKind; name: string }): string {
  return `pin_${digest(JSON.stringify([upstream, kind, name]))}`
}

function firstPin(id: string, definition: SeenDefinition, isFirstSight: boolean, options: JudgeOptions): PinRow {
  const { kind, name, hash, text } = definition
  const pin: PinRow = {
    id,
    organisation: 'default',
    workspace: 'default',
    upstream: options.upstream,
    kind,
    name,
    hash,
    definition: text,
    state: 'pending',
    firstSight: isFirstSight,
    listed: true,
    acceptedHash: null,
    acceptedDefinition: null,
    findings: [...options.findings(definition)],
    seenAt: options.now,
    decidedAt: null,
    decidedBy: null,
    listedKinds: null,
  }
  return mayPass(pin, options.policy) ? accepted(pin) : pin
}

function nextPin(pin: PinRow, definition: SeenDefinition, options: JudgeOptions): PinRow {
  const { hash, text } = definition
  if (hash === pin.hash) return unchangedPin(pin, options.policy)
  const seen = { ...pin, listed: true, hash, definition: text, seenAt: options.now, decidedAt: null, decidedBy: null }
  // Back to what was accepted.
  if (hash === pin.acceptedHash) return accepted({ ...seen, findings: [] })
  const last =
    pin.state === 'accepted'
      ? { acceptedHash: pin.hash, acceptedDefinition: pin.definition }
      : { acceptedHash: pin.acceptedHash, acceptedDefinition: pin.acceptedDefinition }
  const changed: PinRow = { ...seen, ...last, state: 'pending', findings: [...options.findings(definition)] }
  return mayPass(changed, options.policy) ? accepted(changed) : changed
}

/** What waits only because of a policy that has been relaxed since waits no longer. */
function unchangedPin(pin: PinRow, policy: PinPolicy): PinRow {
  const listed = pin.listed ? pin : { ...pin, listed: true }
  return pin.state === 'pending' && mayPass(pin, policy) ? accepted(listed) : listed
}

function accepted(pin: PinRow): PinRow {
  return { ...pin, state: 'accepted', acceptedHash: null, acceptedDefinition: null }
}

/**
 * Whether nobody has to look at it. A changed one always needs a person, and so does a late one unless the configuration
 * says otherwise. Resources are data: their lists grow and change by nature, so of them only what is found counts.
 */
function mayPass({ kind, acceptedHash, firstSight, findings }: PinRow, policy: PinPolicy): boolean {
  if (policy.findings === 'hold' && isSuspicious(findings)) return false
  if (kind === 'resource') return true
  return acceptedHash === null && (firstSight || policy.newTools === 'offer')
}

function isSuspicious(findings: readonly UpstreamFinding[]): boolean {
  return findings.some(({ strength }) => strength === 'strong')
}

/**
 * What becomes of pins of what the server has no more. One that nobody ever accepted or refused has nothing to tell; the
 * others stay, for the day it comes back, as far as there is room: a server that renames everything at every start must
 * not fill the store.
 */
function parted(gone: readonly PinRow[], staying: readonly PinRow[], limits = LISTING_LIMITS): PinWrite[] {
  let definitions = limits.definitions - staying.length
  let characters = limits.characters - staying.reduce((sum, pin) => sum + pin.definition.length, 0)
  return gone
    .toSorted((a, b) => b.seenAt - a.seenAt)
    .flatMap((before): PinWrite[] => {
      if (before.state === 'pending' && before.acceptedHash === null) return [{ kind: 'drop', before }]
      definitions -= 1
      characters -= before.definition.length
      if (definitions < 0 || characters < 0) return [{ kind: 'drop', before }]
      return before.listed ? [{ kind: 'change', before, pin: { ...before, listed: false } }] : []
    })
}

interface VerdictParts {
  readonly policy: PinPolicy
  /** What its definition says. Parsing all of them again would take long. */
  valueOf(pin: PinRow): OfferedDefinition['value']
}

function verdictOn(upstream: string, pins: readonly PinRow[], { policy, valueOf }: VerdictParts): Verdict {
  const held = pins.flatMap(pin => heldDefinition(upstream, pin) ?? [])
  const taken = pins.filter(pin => pin.state === 'accepted')
  return {
    offered: taken.map(pin => ({ kind: pin.kind, name: pin.name, hash: pin.hash, value: valueOf(pin) })),
    held,
    problems: policy.findings === 'allow' ? [] : taken.flatMap(pin => warningAbout(upstream, pin) ?? []),
  }
}

function heldDefinition(upstream: string, pin: PinRow): HeldDefinition | undefined {
  const state = heldState(pin)
  if (state === undefined) return undefined
  const next = `quartermaster upstreams review ${upstream}`
  return { kind: pin.kind, name: pin.name, state, reason: `${REASONS[state]} See \`${next}\`.` }
}

const REASONS = {
  new: 'The server added it, and nobody has looked at it yet.',
  changed: 'The server changed it, and nobody has looked at it yet.',
  suspicious: 'Its definition seems to steer the model, and nobody has looked at it yet.',
  rejected: 'It was looked at and refused.',
} as const satisfies Record<ReviewItem['state'], string>

/** Whatever a person has looked at and accepted is not told again. */
function warningAbout(upstream: string, { kind, name, findings, decidedAt }: PinRow): Problem | undefined {
  const [first] = findings.toSorted((a, b) => Number(a.strength === 'weak') - Number(b.strength === 'weak'))
  if (!first || decidedAt !== null) return undefined
  const more = findings.length > 1 ? ` (and ${findings.length - 1} more)` : ''
  return {
    severity: 'warning',
    code: 'DEFINITION_INVALID',
    where: `upstream:${upstream}`,
    subject: `${kind}:${excerptOf(name)}`,
    field: first.field,
    message: `The ${kind} "${excerptOf(name)}" of "${upstream}": ${first.message}${more} It reads: ${first.excerpt}`,
    mend: `Leave it out if you do not trust it: "leaveOut" of "${upstream}" in the configuration.`,
  }
}
