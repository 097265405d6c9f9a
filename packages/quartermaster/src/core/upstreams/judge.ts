import { PinKind, type PinRow, type Problem, type UpstreamFinding } from '../../contracts/index.ts'
import type { Digest } from '../kernel/index.ts'
import { upstreamUnit } from '../kernel/index.ts'
import { LISTING_LIMITS, type ListingLimits, type ReadListing, type SeenDefinition } from './listing.ts'
import { isSuspicious, type PinPolicy, type ReviewedListing, reviewListing } from './review.ts'

/** A guarded write of one pin: it applies only while the pin is unchanged. */
export type PinWrite =
  | { readonly kind: 'add'; readonly pin: PinRow }
  | { readonly kind: 'change'; readonly before: PinRow; readonly pin: PinRow }
  | { readonly kind: 'drop'; readonly before: PinRow }

/** The reviewed listing with the writes that make it so. */
export interface Judgement extends ReviewedListing {
  readonly writes: readonly PinWrite[]
  /** Unchanged pins that the decision rests on; they guard the writes. */
  readonly standing: readonly PinRow[]
}

interface JudgeOptions {
  readonly upstream: string
  readonly seen: ReadListing
  /** All pins of this upstream. */
  readonly pins: readonly PinRow[]
  readonly policy: PinPolicy
  /** Findings in a definition; called only for new and changed ones. */
  findings(definition: SeenDefinition): readonly UpstreamFinding[]
  readonly now: number
  readonly digest: Digest
  readonly limits?: ListingLimits | undefined
}

/**
 * Decides what a server may offer. What is seen first is accepted unless it looks like an attack; later additions and changes
 * wait for a person; accepted definitions that come back are offered at once. A held definition is not offered in its old form,
 * because the server would run the new one under the old description. Nor is another new version offered without a person: a
 * server whose text was caught would otherwise try others until one passes.
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
  const parting = keepGonePins(gone, [...here, ...unlisted], options.limits)
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
 * Kinds that could not be listed, of which nothing is offered except resources, which are data. Tools are reported as missing
 * even if none was known; for other kinds many servers declare support and list none.
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
 * Kinds that the server has listed before. The first list of a kind counts as first sight however late it comes: otherwise a
 * server whose tools could not be listed at first would seem to have added them all.
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

/** The id is made of kind and name, so that adding a pin twice conflicts. */
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
  return needsNoReview(pin, options.policy) ? accepted(pin) : pin
}

function nextPin(pin: PinRow, definition: SeenDefinition, options: JudgeOptions): PinRow {
  const { hash, text } = definition
  if (hash === pin.hash) return unchangedPin(pin, text, options.policy)
  const seen = { ...pin, listed: true, hash, definition: text, seenAt: options.now, decidedAt: null, decidedBy: null }
  // Back at the accepted version, with its findings.
  if (hash === pin.acceptedHash) return accepted({ ...seen, findings: pin.acceptedFindings ?? [] })
  const findings = [...options.findings(definition)]
  const changed: PinRow = { ...seen, ...lastAccepted(pin), state: 'pending', findings }
  return needsNoReview(changed, options.policy) ? accepted(changed) : changed
}

/** What a changed pin is compared with. */
function lastAccepted(pin: PinRow): Partial<PinRow> {
  if (pin.state !== 'accepted') return { reworded: true }
  const { hash, definition, findings, decidedAt } = pin
  const acceptedFindings = decidedAt === null ? findings : []
  return { acceptedHash: hash, acceptedDefinition: definition, acceptedFindings }
}

/** A pin that waited only because of a stricter policy is accepted under a relaxed one. */
function unchangedPin(pin: PinRow, text: string, policy: PinPolicy): PinRow {
  // Of a pin that was gone perhaps only the name was kept.
  const listed = pin.listed ? pin : { ...pin, listed: true, definition: text }
  return pin.state === 'pending' && needsNoReview(pin, policy) ? accepted(listed) : listed
}

function accepted(pin: PinRow): PinRow {
  return { ...pin, ...NOTHING_BEFORE, state: 'accepted' }
}

/** An accepted pin has no earlier version. */
export const NOTHING_BEFORE = {
  acceptedHash: null,
  acceptedDefinition: null,
  acceptedFindings: null,
  reworded: false,
} as const satisfies Partial<PinRow>

/**
 * Whether no person has to review it. A change always needs a person; so does a late addition, unless the configuration allows
 * it. Lists of resources change by nature, so for them only findings count, and whether an earlier version was held or
 * rejected.
 */
function needsNoReview({ kind, acceptedHash, firstSight, reworded, findings }: PinRow, policy: PinPolicy): boolean {
  if (reworded) return false
  if (policy.findings === 'hold' && isSuspicious(findings)) return false
  if (kind === 'resource') return true
  return acceptedHash === null && (firstSight || policy.newTools === 'offer')
}

/**
 * Pins of definitions that the server lists no more. They are kept for the day these come back and for agents that name them,
 * up to a limit, because a server may rename everything at every start. Undecided ones go first.
 */
function keepGonePins(
  gone: readonly PinRow[],
  staying: readonly PinRow[],
  limits = LISTING_LIMITS,
): { kept: readonly PinRow[]; writes: readonly PinWrite[] } {
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
    // A definition that comes back may find its name taken.
    const left = before.listed ? { ...before, ...NO_CLAIM, listed: false } : before
    const pin = named.has(before) && before.definition !== NO_DEFINITION ? { ...left, ...NAME_ONLY } : left
    if (pin !== before) writes.push({ kind: 'change', before, pin })
  }
  return { kept, writes }
}

/**
 * The order in which names are kept: decisions of persons first, and last what a server can bring about itself by listing much.
 * No agent names an accepted resource, and it passes again.
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

/** The hashes stay, so that a definition that comes back is recognised. */
const NO_DEFINITION = '{}'
const NAME_ONLY = { definition: NO_DEFINITION, acceptedDefinition: null } as const satisfies Partial<PinRow>

function isUndecided({ state, acceptedHash }: PinRow): boolean {
  return state === 'pending' && acceptedHash === null
}

const NO_CLAIM = { offeredAs: null, offeredSince: null } as const satisfies Partial<PinRow>
