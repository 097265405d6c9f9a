import { messageOf, type PinKind, type Problem, type UpstreamConfig } from '../../../contracts/index.ts'
import type { DependencyDefinition, SourceUnit } from '../../../core/catalogue/index.ts'
import { type Clock, type Digest, inTurns, runToEnd, type Steps, upstreamUnit } from '../../../core/kernel/index.ts'
import {
  excerptOf,
  isWaiting,
  type Listing,
  type OtherNames,
  type PinBook,
  type ReviewedListing,
  wantsDefinition,
} from '../../../core/upstreams/index.ts'
import { offReason } from '../upstream-entry.ts'
import type { UpstreamCalls } from './upstream-calls.ts'
import { capabilityOf, createNameClaims, type NameClaims, type OfferedCapability } from './upstream-definitions.ts'

type Unit = Extract<SourceUnit, { readonly hash: string }>

/** What an upstream offers now, by its listing and the decisions about it. */
export interface Offer {
  unit(): Unit
  /** The reviewed listing; nothing before the first. */
  verdict(): ReviewedListing | undefined
  /** Answers whether a reload would find something new. */
  take(verdict: ReviewedListing): Promise<boolean>
  configured(): void
  /** What agents call a definition, or would if it were offered. */
  nameOf(kind: PinKind, own: string): string | undefined
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
  /** Grows with every change, which outdates a build in progress. */
  let changes = 0
  let named: OfferedCapability['named'] = []
  const claims = createNameClaims()

  function unit(): Unit {
    made ??= finish(runToEnd(build(verdict, deps)))
    return made
  }

  /** Only a build that is used claims names. */
  function finish({ hashed, ...draft }: Draft): Unit {
    named = draft.named
    const held = claims.settle(named, Math.round(deps.clock.now()))
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
      // The previous offer stays until the build is done.
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

/** An offer before its names are settled. */
interface Draft extends Pick<OfferedCapability, 'named'> {
  readonly unit: Omit<Unit, 'hash' | 'claims'>
  readonly hashed: readonly unknown[]
}

function* build(verdict: ReviewedListing | undefined, deps: OfferDeps): Steps<Draft> {
  const { name, digest, dependency, calls, watch } = deps
  const config = deps.config()
  const known = config.enabled ? verdict : undefined
  const { offered = [], held: all = [], gone = [], problems: told = [] } = known ?? {}
  const held = all.filter(one => wantsDefinition(config, one))
  const unseen = unseenReason(config, verdict)
  const withheld = all.filter(one => one.kind === 'tool' || one.kind === 'prompt')
  const parts = { upstream: name, config, offered, withheld, gone, unseen, dependency, calls, digest, watch }
  const { capability, problems: found, named } = yield* capabilityOf(parts)
  const leftOut = new Set(
    offered.filter(one => !wantsDefinition(config, one)).map(one => `${one.kind}:${excerptOf(one.name)}`),
  )
  const left = told.filter(({ subject }) => subject === undefined || !leftOut.has(subject))
  const problems = [...left, ...found, ...heldProblems(name, held.filter(isWaiting))]
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

/** Names no state, because that changes more often than the offer. Agents read it, and most cannot run the command. */
const UNSEEN =
  'It has not been reached yet, so its tools are unknown. ' +
  'Why, and what to do, says `quartermaster upstreams`; if you cannot run that, tell a person who can.'

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

/** Applies listings, stored pins and decisions of an upstream one after the other, so that the last is the newest. */
export interface ReviewQueue {
  /** Reads the stored pins, unless a newer listing is there. */
  recall(): Promise<void>
  see(listing: Listing, others: OtherNames): Promise<boolean>
  /** Other units have new tools: descriptions that mention them are scanned again. */
  lookAgain(): Promise<void>
  renamed(): void
  review<T>(decide: () => Promise<T>): Promise<T>
  settled(): Promise<unknown>
}

interface ReviewQueueDeps {
  readonly name: string
  readonly pins: Pick<PinBook, 'recall' | 'see' | 'recheck' | 'claim'>
  readonly offer: Offer
  config(): UpstreamConfig
  otherTools(): Promise<OtherNames>
  onChange(): void
  note(text: string): void
}

export function createReviewQueue(deps: ReviewQueueDeps): ReviewQueue {
  const { name, pins, offer, config, onChange, note } = deps
  let again: Promise<void> | undefined
  let turns: Promise<unknown> = Promise.resolve()

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = turns.then(work)
    turns = turn.catch(() => {})
    return turn
  }

  async function take(verdict: ReviewedListing | undefined): Promise<boolean> {
    const isNew = verdict !== undefined && (await offer.take(verdict))
    if (isNew) onChange()
    await keepNames()
    return isNew
  }

  /** Names or times stored by another process take precedence. */
  async function takeRecorded(): Promise<void> {
    const verdict = await pins.recall(name, config())
    if (verdict && (await offer.take(verdict))) onChange()
  }

  /** Stored for the next start: the present owner of a name keeps it. */
  async function keepNames(): Promise<void> {
    const changes = offer.claims.unwritten()
    if (changes.length === 0) return
    try {
      if (await pins.claim(name, changes)) offer.claims.wrote(changes)
      else await takeRecorded()
    } catch (error) {
      note(`Since when it has its names could not be written down: ${messageOf(error)}`)
    }
  }

  async function lookAgain(): Promise<void> {
    again = undefined
    if (!offer.verdict()) return
    const verdict = await pins.recheck({ upstream: name, policy: config(), others: await deps.otherTools() })
    await take(verdict)
  }

  return {
    recall: () =>
      inTurn(async () => {
        const verdict = await pins.recall(name, config())
        if (!verdict || offer.verdict()) return
        await offer.take(verdict)
        await keepNames()
      }),
    renamed: () => void inTurn(keepNames),
    see: (listing, others) =>
      inTurn(async () => take(await pins.see({ upstream: name, listing, policy: config(), others }))),
    lookAgain() {
      // A waiting scan covers further requests.
      again ??= inTurn(lookAgain).catch(error => {
        note(`What it says of tools of others could not be looked at again: ${messageOf(error)}`)
      })
      return again
    },
    review: decide =>
      inTurn(async () => {
        const decided = await decide()
        await take(await pins.recall(name, config()))
        return decided
      }),
    settled: () => turns,
  }
}
