import { AppError, PinKind, type PinRow, type ReviewItem, type UpstreamFinding } from '../../contracts/index.ts'
import { type Clock, type Digest, didYouMean, inTurns } from '../kernel/index.ts'
import { allRows, insert, mustExist, pagesOf, remove, type Store, update, type Write } from '../store/index.ts'
import { countNames } from './credentials.ts'
import { judge, NOTHING_BEFORE, type PinWrite, pinId } from './judge.ts'
import { type Listing, type ReadListing, readListing, type SeenDefinition } from './listing.ts'
import { createMentions, type Mentions } from './mentions.ts'
import {
  compareItems,
  isWarned,
  itemsOf,
  type ListOptions,
  type NameClaim,
  offeredFromPins,
  type PinPolicy,
  type ReviewedListing,
  recheckedPin,
  type SecondFinding,
} from './review.ts'
import { type KnownNames, type OtherNames, otherNamesIn } from './scan/names.ts'
import type { Scanner } from './scan/scanner.ts'

interface SeenListing {
  readonly upstream: string
  readonly listing: Listing
  readonly policy: PinPolicy
  /** Tools of other servers, to find definitions that steer or imitate them. */
  readonly others?: OtherNames | Iterable<string> | undefined
}

/** A second check of recorded definitions, against tools that were added since. */
interface Recheck {
  readonly upstream: string
  readonly policy: PinPolicy
  readonly others: OtherNames
}

/** A new offered name of a definition, or none. */
export interface ClaimChange {
  readonly kind: PinKind
  readonly name: string
  readonly before: NameClaim | undefined
  readonly now: NameClaim | undefined
}

/** The store's record of every definition that servers have listed. */
export interface PinBook {
  /** What to offer by the record alone, before a server has answered. `undefined` for an unknown server. */
  recall(upstream: string, policy: PinPolicy): Promise<ReviewedListing | undefined>
  /** Compares a listing with the record and stores what is new. */
  see(listing: SeenListing): Promise<ReviewedListing>
  /** Checks undecided definitions again that mention tools of others. Returns nothing where nothing changes. */
  recheck(look: Recheck): Promise<ReviewedListing | undefined>
  /** Definitions that wait, are rejected, or are offered with a warning. */
  list(upstream?: string, options?: ListOptions): Promise<ReviewItem[]>
  /**
   * Throws `NAME_UNKNOWN` for a definition that cannot be decided about, and `EDIT_CONFLICT` for one that has changed since the
   * person looked.
   */
  decide(decision: Decision): Promise<ReviewItem[]>
  /** Records the offered names. Returns `false` if another process has written meanwhile: read the record again. */
  claim(upstream: string, changes: readonly ClaimChange[]): Promise<boolean>
  /** The names under which agents knew its definitions. */
  namesOf(upstream: string): Promise<string[]>
  /** Pins by upstream, configured or not. */
  counts(): Promise<ReadonlyMap<string, number>>
  /** Removes the whole record of a server. */
  forget(upstream: string): Promise<void>
}

interface PinBookDeps {
  readonly storage: { open(): Promise<{ readonly store: Store }> }
  readonly clock: Clock
  readonly digest: Digest
  readonly scanner: Scanner
}

export function createPinBook({ storage, clock, digest, scanner }: PinBookDeps): PinBook {
  const mentions = new Map<string, Mentions>()
  const open = async () => (await storage.open()).store
  const now = () => Math.round(clock.now())

  /** Returns nothing if another process changed the pins meanwhile. */
  async function recordOnce(store: Store, look: ListingCheck): Promise<ReviewedListing | undefined> {
    const { upstream, policy, seen, findings } = look
    const pins = await allPins(store, { upstream })
    const known = new Set(pins.flatMap(({ id, hash, acceptedHash }) => [`${id} ${hash}`, `${id} ${acceptedHash}`]))
    const isFresh = (one: SeenDefinition) => !known.has(`${pinId(digest, upstream, one)} ${one.hash}`)
    const fresh = seen.definitions.filter(one => isFresh(one) && !findings.has(one))
    for (const [one, found] of await scanner.scan(fresh, look.names)) findings.set(one, found)
    const facts = { upstream, seen, pins, policy, digest, now: now() }
    const { writes, standing, ...verdict } = judge({ ...facts, findings: one => findings.get(one) ?? [] })
    const outcome = await store.commit([...writes.map(toWrite), ...standing.map(toCheck)])
    return outcome.committed ? verdict : undefined
  }

  async function recall(upstream: string, policy: PinPolicy): Promise<ReviewedListing | undefined> {
    const pins = await allPins(await open(), { upstream })
    return pins.length === 0 ? undefined : inTurns(offeredFromPins(upstream, pins, policy), clock)
  }

  /** The mentions in a server's definitions, from memory or else from the record. */
  async function mentionsOf(store: Store, upstream: string): Promise<Mentions> {
    const known = mentions.get(upstream)
    if (known) return known
    const made = createMentions()
    const pins = await allPins(store, { upstream, listed: true })
    const recorded = pins.map(pin => ({ ...pin, value: () => JSON.parse(pin.definition) }))
    await inTurns(made.note(recorded, new Set(PinKind.options)), clock)
    mentions.set(upstream, made)
    return made
  }

  async function noteMentions(store: Store, { upstream, seen: { definitions, kinds } }: ListingCheck): Promise<void> {
    const known = await mentionsOf(store, upstream)
    const seen = definitions.map(one => ({ ...one, id: pinId(digest, upstream, one), value: () => one.value }))
    await inTurns(known.note(seen, kinds), clock)
  }

  /** Returns whether anything changed, or nothing if another process changed it meanwhile. */
  async function recheckOnce(store: Store, { upstream, policy, others }: Recheck): Promise<boolean | undefined> {
    const known = await mentionsOf(store, upstream)
    const spoken = await inTurns(known.of(others), clock)
    if (spoken.size === 0) return false
    const pins = await allPinsIn(store, upstream, [...spoken.keys()])
    const open = pins.filter(({ decidedAt }) => decidedAt === null).map(pin => ({ pin, ...seenAgain(pin) }))
    const found = await scanner.scan(open, { siblings: known.siblings(), others })
    const changes = open.flatMap(one => recheckedPin(one.pin, found.get(one) ?? [], policy) ?? [])
    const outcome = await store.commit(changes.map(toChange))
    if (!outcome.committed) return undefined
    known.markReported(spoken)
    return changes.length > 0
  }

  return {
    recall,
    async see({ upstream, listing, policy, others = [] }) {
      const store = await open()
      const seen = await inTurns(readListing(upstream, listing, { digest }), clock)
      const siblings = toolNames(seen.definitions)
      const names = { siblings, others: 'named' in others ? others : otherNamesIn(others) }
      const look: ListingCheck = { upstream, policy, seen, names, findings: new Map() }
      // Another process or a person may have changed the pins between reading and writing.
      const verdict = await retryOnConflict(upstream, () => recordOnce(store, look))
      await noteMentions(store, look)
      return verdict
    },
    async recheck(look) {
      const store = await open()
      const isChanged = await retryOnConflict(look.upstream, () => recheckOnce(store, look))
      return isChanged ? recall(look.upstream, look.policy) : undefined
    },
    async list(upstream, options = {}) {
      const where = upstream === undefined ? {} : { upstream }
      const store = await open()
      const pins = options.offered ? await allPins(store, { ...where, listed: true }) : await reviewable(store, where)
      return (await inTurns(itemsOf(pins, options), clock)).toSorted(compareItems)
    },
    async decide(decision) {
      const store = await open()
      const chosen = await choose(store, decision)
      const outcome = await store.commit(chosen.map(pin => decided(pin, decision, now())))
      if (!outcome.committed) throw changedMeanwhile(decision.upstream)
      return (await inTurns(itemsOf(chosen, {}), clock)).toSorted(compareItems)
    },
    async claim(upstream, changes) {
      const store = await open()
      const writes = changes.map(({ before, now: after, ...one }) =>
        update('pins', {
          where: { id: pinId(digest, upstream, one), offeredSince: before?.since ?? null },
          set: { offeredAs: after?.as ?? null, offeredSince: after?.since ?? null },
          rows: 'any',
        }),
      )
      const outcome = await store.commit(writes)
      return outcome.committed && outcome.rows.every(count => count > 0)
    },
    async namesOf(upstream) {
      const pins = await allRows(await open(), 'pins', { ...PLACE, upstream }, ['offeredAs'])
      return pins.flatMap(({ offeredAs }) => offeredAs ?? [])
    },
    async counts() {
      const pins = await allRows(await open(), 'pins', PLACE, ['upstream'])
      return countNames(pins.map(({ upstream }) => upstream))
    },
    async forget(upstream) {
      const store = await open()
      await store.commit([remove('pins', { where: { ...PLACE, upstream }, rows: 'any' })])
      mentions.delete(upstream)
    },
  }

  /** The pins that the decision names. */
  async function choose(store: Store, { upstream, items, decision }: Decision): Promise<PinRow[]> {
    const ids = items.map(item => pinId(digest, upstream, item))
    const named = await allPins(store, { upstream, listed: true, id: { in: ids } })
    const open = named.filter(pin => decision === 'reject' || isReviewable(pin))
    const byId = new Map(open.map(pin => [pin.id, pin]))
    const strange = items.find((_item, i) => !byId.has(ids[i] ?? ''))
    if (strange) throw notWaiting(upstream, strange.name, await reviewable(store, { upstream }))
    if (items.some(({ hash }, i) => byId.get(ids[i] ?? '')?.hash !== hash)) throw changedMeanwhile(upstream)
    return [...byId.values()]
  }
}

/** A parsed listing with its findings, which are looked for only once. */
interface ListingCheck {
  readonly upstream: string
  readonly policy: PinPolicy
  readonly seen: ReadListing
  readonly names: KnownNames
  readonly findings: Map<SeenDefinition, readonly UpstreamFinding[]>
}

const MOST_ATTEMPTS = 5

/** Retries while another process was faster. */
async function retryOnConflict<T>(upstream: string, attempt: () => Promise<T | undefined>): Promise<T> {
  for (let attempts = 0; attempts < MOST_ATTEMPTS; attempts++) {
    const done = await attempt()
    if (done !== undefined) return done
  }
  throw new AppError('EDIT_CONFLICT', `The pins of "${upstream}" keep changing. Try again.`)
}

function seenAgain({ kind, name, hash, definition }: PinRow): SeenDefinition {
  return { kind, name, hash, text: definition, value: JSON.parse(definition) }
}

function toolNames(definitions: readonly SeenDefinition[]): ReadonlySet<string> {
  return new Set(definitions.filter(({ kind }) => kind === 'tool').map(({ name }) => name))
}

function notWaiting(upstream: string, name: string, waiting: readonly PinRow[]): AppError {
  const hint = didYouMean(
    name,
    waiting.map(pin => pin.name),
  )
  return new AppError('NAME_UNKNOWN', `Nothing called "${name}" of "${upstream}" waits for review.${hint}`)
}

function changedMeanwhile(upstream: string): AppError {
  return new AppError('EDIT_CONFLICT', `What waits of "${upstream}" has changed meanwhile. Look at it again.`)
}

const UNACCEPTED = { in: ['pending', 'rejected'] } as const
const PLACE = { organisation: 'default', workspace: 'default' } as const
const PAGE = 200

type PinFilter = {
  upstream?: string
  listed?: true
  state?: typeof UNACCEPTED | 'accepted'
  decidedAt?: null
  id?: { in: string[] }
}

/** Pins that are not offered, or offered with a warning. */
function isReviewable(pin: PinRow): boolean {
  return pin.state !== 'accepted' || isWarned(pin)
}

async function reviewable(store: Store, where: Pick<PinFilter, 'upstream'>): Promise<PinRow[]> {
  const [held, offered] = await Promise.all([
    allPins(store, { ...where, listed: true, state: UNACCEPTED }),
    allPins(store, { ...where, listed: true, state: 'accepted', decidedAt: null }),
  ])
  return [...held, ...offered].filter(isReviewable)
}

async function allPins(store: Store, filter: PinFilter): Promise<PinRow[]> {
  const pins: PinRow[] = []
  const query = { where: { ...PLACE, ...filter }, order: { by: ['id'] }, limit: PAGE } as const
  for await (const page of pagesOf(store, 'pins', query)) pins.push(...page)
  return pins
}

/** Reads them in as many queries as it takes. */
async function allPinsIn(store: Store, upstream: string, ids: readonly string[]): Promise<PinRow[]> {
  const pins: PinRow[] = []
  for (let start = 0; start < ids.length; start += PAGE)
    pins.push(...(await allPins(store, { upstream, listed: true, id: { in: ids.slice(start, start + PAGE) } })))
  return pins
}

/** A person's decision about reviewable definitions. */
export interface Decision {
  readonly upstream: string
  /** By hash, so that it applies only to what the person has seen. */
  readonly items: readonly { readonly kind: PinKind; readonly name: string; readonly hash: string }[]
  readonly decision: 'accept' | 'reject'
  readonly by: string
}

/** Guarded, so that it never overrides a decision made meanwhile. */
function toChange({ before: { id, hash, state }, findings, state: next }: SecondFinding): Write {
  const where = { id, hash, state, decidedAt: null }
  return update('pins', { where, set: { findings: [...findings], state: next }, guard: 'pin.unchanged' })
}

/** Guarded by the row that the decision was made on, so that two processes never overwrite each other. */
function toWrite(write: PinWrite): Write {
  if (write.kind === 'add') return insert('pins', write.pin, 'pin.new')
  const { id, hash, state } = write.before
  const where = { id, hash, state }
  if (write.kind === 'drop') return remove('pins', { where, guard: 'pin.unchanged' })
  const { offeredAs: _as, offeredSince: _since, ...seen } = write.pin
  // Names are written separately; only a definition that is no longer listed loses its name here.
  return update('pins', { where, set: write.pin.listed ? seen : write.pin, guard: 'pin.unchanged' })
}

/** Guards a result that changes nothing against a decision made meanwhile. */
function toCheck({ id, hash, state }: PinRow): Write {
  return mustExist('pins', { id, hash, state }, 'pin.unchanged')
}

function decided({ id, hash, state }: PinRow, { decision, by }: Decision, now: number): Write {
  const decidedFacts = { decidedAt: now, decidedBy: by }
  const set =
    decision === 'accept'
      ? { ...decidedFacts, ...NOTHING_BEFORE, state: 'accepted' as const }
      : { ...decidedFacts, state: 'rejected' as const }
  return update('pins', { where: { id, hash, state }, set, guard: 'pin.unchanged' })
}
