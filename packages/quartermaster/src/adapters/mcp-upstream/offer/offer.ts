import type { PinKind, Problem, UpstreamConfig } from '../../../contracts/index.ts'
import type { DependencyDefinition, SourceUnit } from '../../../core/catalogue/index.ts'
import { atOnce, type Clock, type Digest, inTurns, type Steps, upstreamUnit } from '../../../core/kernel/index.ts'
import { excerptOf, isWaiting, type ReviewedListing, wantsDefinition } from '../../../core/upstreams/index.ts'
import { offReason } from '../switched-off.ts'
import { createNameClaims, type NameClaims } from './name-claims.ts'
import type { UpstreamCalls } from './upstream-calls.ts'
import { capabilityOf, type OfferedCapability } from './upstream-definitions.ts'

type Unit = Extract<SourceUnit, { readonly hash: string }>

/** What an upstream brings now, by what was seen of it and decided about it. */
export interface Offer {
  unit(): Unit
  /** Nothing before it was first seen. */
  verdict(): ReviewedListing | undefined
  /** Answers whether a reload would find something new. */
  take(verdict: ReviewedListing): Promise<boolean>
  /** Another configuration says what is shown of it. */
  configured(): void
  /** What agents call something of it, or would if it were offered. */
  nameOf(kind: PinKind, own: string): string | undefined
  /** Since when it has its names. */
  readonly claims: Pick<NameClaims, 'unwritten' | 'wrote'>
}

export interface OfferDeps {
  readonly name: string
  readonly digest: Digest
  readonly clock: Pick<Clock, 'now' | 'breathe'>
  readonly dependency: DependencyDefinition
  readonly calls: UpstreamCalls
  config(): UpstreamConfig
  watch(agent: string, uri: string, onUpdated: () => void): () => void
}

export function createOffer(deps: OfferDeps): Offer {
  let verdict: ReviewedListing | undefined
  let made: Unit | undefined
  /** Grows with whatever makes what is being built the wrong one. */
  let changes = 0
  let named: OfferedCapability['named'] = []
  const claims = createNameClaims()

  function unit(): Unit {
    made ??= finish(atOnce(build(verdict, deps)))
    return made
  }

  /** Only what is used is anybody's: what is built in vain has no names. */
  function finish({ hashed, ...draft }: Draft): Unit {
    named = draft.named
    const held = claims.settle(named, Math.round(deps.clock.now()))
    // In whatever order it is listed.
    const claimed = held.map(one => `${one.kind} ${one.name} ${one.since} ${one.isHeld}`).toSorted()
    return { ...draft.unit, hash: deps.digest(JSON.stringify([...hashed, claimed])), claims: held }
  }

  return {
    unit,
    verdict: () => verdict,
    async take(next) {
      const before = unit().hash
      verdict = next
      claims.take(next)
      const change = ++changes
      // Until it is built, what was offered before is offered still.
      const built = await inTurns(build(next, deps), deps.clock)
      if (change === changes) made = finish(built)
      return unit().hash !== before
    },
    configured() {
      changes++
      made = undefined
    },
    nameOf: (kind, own) => named.find(one => one.kind === kind && one.own === own)?.name,
    claims: { unwritten: () => (unit(), claims.unwritten()), wrote: claims.wrote },
  }
}

/** What is offered, but for the names that it keeps. */
interface Draft extends Pick<OfferedCapability, 'named'> {
  readonly unit: Omit<Unit, 'hash' | 'claims'>
  readonly hashed: readonly unknown[]
}

function* build(verdict: ReviewedListing | undefined, deps: OfferDeps): Steps<Draft> {
  const { name, digest, dependency, calls, watch } = deps
  const config = deps.config()
  // Of one that is switched off nothing is offered, whatever is known of it.
  const known = config.enabled ? verdict : undefined
  const { offered = [], held: all = [], gone = [], problems: told = [] } = known ?? {}
  const held = all.filter(one => wantsDefinition(config, one))
  const unseen = unseenReason(config, verdict)
  const withheld = all.filter(one => one.kind === 'tool' || one.kind === 'prompt')
  const parts = { upstream: name, config, offered, withheld, gone, unseen, dependency, calls, digest, watch }
  const { capability, problems: found, named } = yield* capabilityOf(parts)
  // Whoever has left something out is not told of it.
  const leftOut = new Set(
    offered.filter(one => !wantsDefinition(config, one)).map(one => `${one.kind}:${excerptOf(one.name)}`),
  )
  const left = told.filter(({ subject }) => subject === undefined || !leftOut.has(subject))
  const problems = [...left, ...found, ...heldProblems(name, held.filter(isWaiting))]
  // In whatever order it is listed.
  const offeredNow = offered.map(one => `${one.kind} ${one.name} ${one.hash}`).toSorted()
  const heldNow = held.map(one => `${one.kind} ${one.name} ${one.reason}`).toSorted()
  const unwantedNow = capability.unwanted.map(one => one.name).toSorted()
  const definitions = { capabilities: [capability], dependencies: [], injections: [] }
  const hashed = [config, offeredNow, heldNow, gone.toSorted(), unwantedNow, problems, unseen]
  return { unit: { id: upstreamUnit(name), definitions, problems }, hashed, named }
}

function unseenReason(config: UpstreamConfig, verdict: ReviewedListing | undefined): string | undefined {
  return offReason(config) ?? (verdict ? undefined : UNSEEN)
}

/**
 * It may be starting, be down or want a login, and that changes oftener than what is offered does. Agents read it, and most have
 * no such command.
 */
const UNSEEN =
  'It has not been reached yet, so nobody knows what it has. ' +
  'Why, and what to do, says `quartermaster upstreams`; if you cannot run that, tell a person who can.'

/** What waits for a person should not wait unnoticed. */
function heldProblems(name: string, held: ReviewedListing['held']): Problem[] {
  if (held.length === 0) return []
  const [first, ...more] = held
  const what = first && more.length === 0 ? oneOf(name, first) : `${held.length} definitions of "${name}" are`
  const message = `${what} held back.`
  const fix = `Look at what waits: quartermaster upstreams review ${name}`
  return [{ severity: 'warning', code: 'DEFINITION_INVALID', where: upstreamUnit(name), message, fix }]
}

function oneOf(upstream: string, { kind, name }: ReviewedListing['held'][number]): string {
  if (kind === 'server') return `What "${upstream}" says of itself is`
  return `The ${kind} "${excerptOf(name)}" of "${upstream}" is`
}
