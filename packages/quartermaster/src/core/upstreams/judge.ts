import { PinKind, type PinRow, type Problem, type UpstreamFinding } from '../../contracts/index.ts'
import type { Digest } from '../kernel/index.ts'
import { upstreamUnit } from '../kernel/index.ts'
import { LISTING_LIMITS, type ListingLimits, type ReadListing, type SeenDefinition } from './listing.ts'
import { isSuspicious, type PinPolicy, type ReviewedListing, reviewListing } from './review.ts'

/** One change of the pins. It holds only while the pin is what it was. */
export type PinWrite =
  | { readonly kind: 'add'; readonly pin: PinRow }
  | { readonly kind: 'change'; readonly before: PinRow; readonly pin: PinRow }
  | { readonly kind: 'drop'; readonly before: PinRow }

/** A verdict, and what becomes of the pins with it. */
export interface Judgement extends ReviewedListing {
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
 * old form: the server would run the new one under the old description. Nor is it offered in a new one that no person has seen:
 * a server whose text was found out would otherwise try others until one passes.
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
  const parting = parted(gone, [...here, ...unlisted], options.limits)
  writes.push(...parting.writes)
  const values = new Map(here.map((pin, index) => [pin, seen.definitions[index]?.value]))
  const valueOf = (pin: PinRow) => values.get(pin) ?? JSON.parse(pin.definition)
  const present = [...here, ...unlisted.filter(pin => pin.listed)]
  const absent = [...parting.kept, ...unlisted.filter(pin => !pin.listed)]
  const verdict = reviewListing(upstream, { present, absent }, { ...options, valueOf })
  const unchanged = new Set(pins)
  const standing = [...here.filter(pin => unchanged.has(pin)), ...unlisted]
  const missing = missingLists(unlisted, seen.kinds)
  const problems = [...seen.problems, ...unlistedProblems(upstream, missing), ...verdict.problems]
  return {
    ...verdict,
    problems,
    writes,
    standing,
    ...(missing.length > 0 ? { unlisted: missing } : {}),
    ...(seen.isCut ? { isCut: true as const } : {}),
  }
}

const UNLISTED = [
  ['tool', 'tools'],
  ['prompt', 'prompts'],
  ['template', 'templates of resources'],
] as const satisfies readonly (readonly [PinKind, string])[]

/**
 * Nothing of such a kind is used, because what it is by now is not known. Resources are data, and are. Tools are what a server is
 * there for, and missed also where none was known; of the others many servers say that they have some and list none.
 */
function missingLists(unlisted: readonly PinRow[], kinds: ReadonlySet<PinKind>): string[] {
  const known = new Set(unlisted.filter(pin => pin.listed && pin.state === 'accepted').map(({ kind }) => kind))
  const isMissing = (kind: PinKind) => known.has(kind) || (kind === 'tool' && !kinds.has(kind))
  return UNLISTED.filter(([kind]) => isMissing(kind)).map(([, things]) => things)
}

function unlistedProblems(upstream: string, missing: readonly string[]): Problem[] {
  return missing.map(things => ({
    severity: 'warning',
    code: 'DEFINITION_INVALID',
    where: upstreamUnit(upstream),
    message: `"${upstream}" does not list its ${things}. None of them is used until it does.`,
    fix: `Look at what it says: quartermaster logs ${upstream}. Then: quartermaster upstreams restart ${upstream}`,
  }))
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

/** The same for everything of that kind and name: adding it twice finds it taken. */
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
    offeredAs: null,
    offeredSince: null,
    reworded: false,
    acceptedFindings: null,
  }
  return mayPass(pin, options.policy) ? accepted(pin) : pin
}

function nextPin(pin: PinRow, definition: SeenDefinition, options: JudgeOptions): PinRow {
  const { hash, text } = definition
  if (hash === pin.hash) return unchangedPin(pin, text, options.policy)
  const seen = { ...pin, listed: true, hash, definition: text, seenAt: options.now, decidedAt: null, decidedBy: null }
  // Back to what was accepted, and to what was to be told about it.
  if (hash === pin.acceptedHash) return accepted({ ...seen, findings: pin.acceptedFindings ?? [] })
  const findings = [...options.findings(definition)]
  const changed: PinRow = { ...seen, ...lastAccepted(pin), state: 'pending', findings }
  return mayPass(changed, options.policy) ? accepted(changed) : changed
}

/** What a changed pin is compared with, and whether the one before it was good enough for that. */
function lastAccepted(pin: PinRow): Partial<PinRow> {
  if (pin.state !== 'accepted') return { reworded: true }
  const { hash, definition, findings, decidedAt } = pin
  const acceptedFindings = decidedAt === null ? findings : []
  return { acceptedHash: hash, acceptedDefinition: definition, acceptedFindings }
}

/** What waits only because of a policy that has been relaxed since waits no longer. */
function unchangedPin(pin: PinRow, text: string, policy: PinPolicy): PinRow {
  // Of one that was gone perhaps no more than the name was kept.
  const listed = pin.listed ? pin : { ...pin, listed: true, definition: text }
  return pin.state === 'pending' && mayPass(pin, policy) ? accepted(listed) : listed
}

function accepted(pin: PinRow): PinRow {
  return { ...pin, ...NOTHING_BEFORE, state: 'accepted' }
}

/** What an accepted pin says of what was there before it. */
export const NOTHING_BEFORE = {
  acceptedHash: null,
  acceptedDefinition: null,
  acceptedFindings: null,
  reworded: false,
} as const satisfies Partial<PinRow>

/**
 * Whether no person has to look at it. A changed one always needs a person, and so does a late one unless the configuration
 * says otherwise. Resources are data: their lists grow and change by nature, so of them only what is found counts, and
 * whether one was held back or refused before it changed.
 */
function mayPass({ kind, acceptedHash, firstSight, reworded, findings }: PinRow, policy: PinPolicy): boolean {
  if (reworded) return false
  if (policy.findings === 'hold' && isSuspicious(findings)) return false
  if (kind === 'resource') return true
  return acceptedHash === null && (firstSight || policy.newTools === 'offer')
}

interface Parting {
  readonly kept: readonly PinRow[]
  readonly writes: readonly PinWrite[]
}

/**
 * What becomes of pins of what the server has no more. They stay, for the day it comes back and for agents that name it, as
 * far as there is room: a server that renames everything at every start must not fill the store. What no person has accepted or
 * refused goes first.
 */
function parted(gone: readonly PinRow[], staying: readonly PinRow[], limits = LISTING_LIMITS): Parting {
  let definitions = limits.definitions - staying.length
  let characters = limits.characters - staying.reduce((sum, pin) => sum + pin.definition.length, 0)
  const whole = new Set<PinRow>()
  for (const pin of gone.toSorted((a, b) => Number(isUndecided(a)) - Number(isUndecided(b)) || b.seenAt - a.seenAt)) {
    definitions -= 1
    characters -= pin.definition.length
    if (definitions >= 0 && characters >= 0) whole.add(pin)
  }
  const named = new Set(namesWorthKeeping(gone.filter(pin => !whole.has(pin))).slice(0, limits.names))
  const kept: PinRow[] = []
  const writes: PinWrite[] = []
  for (const before of gone) {
    if (!whole.has(before) && !named.has(before)) {
      writes.push({ kind: 'drop', before })
      continue
    }
    kept.push(before)
    // A definition that comes back later may find its name taken.
    const left = before.listed ? { ...before, ...NO_CLAIM, listed: false } : before
    const pin = named.has(before) && before.definition !== NO_DEFINITION ? { ...left, ...NAME_ONLY } : left
    if (pin !== before) writes.push({ kind: 'change', before, pin })
  }
  return { kept, writes }
}

/**
 * A server that lists much at once would otherwise take from agents what they name, and have what was refused forgotten. What
 * it can bring about by itself comes last. An accepted resource is named by no agent, and passes again.
 */
function namesWorthKeeping(pins: readonly PinRow[]): PinRow[] {
  const worth = new Map(pins.map(pin => [pin, worthOf(pin)]))
  const rank = (pin: PinRow) => worth.get(pin) ?? 0
  return pins.filter(pin => rank(pin) > 0).toSorted((a, b) => rank(b) - rank(a) || b.seenAt - a.seenAt)
}

function worthOf(pin: PinRow): number {
  if (pin.state === 'rejected') return 4
  if (!isUndecided(pin) && pin.kind !== 'resource') return pin.firstSight || pin.decidedAt !== null ? 3 : 2
  return pin.state === 'pending' && (pin.reworded || isSuspicious(pin.findings)) ? 1 : 0
}

/** The hashes stay: what comes back is known by them. */
const NO_DEFINITION = '{}'
const NAME_ONLY = { definition: NO_DEFINITION, acceptedDefinition: null } as const satisfies Partial<PinRow>

function isUndecided({ state, acceptedHash }: PinRow): boolean {
  return state === 'pending' && acceptedHash === null
}

const NO_CLAIM = { offeredAs: null, offeredSince: null } as const satisfies Partial<PinRow>
