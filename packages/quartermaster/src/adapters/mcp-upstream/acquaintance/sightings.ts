import { messageOf, type UpstreamConfig } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import type { Listing, OtherNames } from '../../../core/upstreams/index.ts'
import { isRecord } from '../../mcp-wire/index.ts'
import type { OwnDefinitions } from '../offer/own-definitions.ts'
import { withTimeLimit } from '../pausing.ts'
import { busyMsOf, SendFailure } from '../session/channel.ts'
import { fetchListing, listedKinds, unlistedBy } from '../session/fetch-listing.ts'
import { RPC, type RpcError } from '../session/rpc-error.ts'
import type { ListKind, Session } from '../session/session.ts'
import type { Connection } from '../supervision/connection.ts'
import type { Acquaintance } from './acquaintance.ts'
import { type BusyPauses, createBusyPauses } from './busy-pauses.ts'
import { createRelisting, type Relisting } from './relisting.ts'
import type { Verdicts } from './verdicts.ts'

/** Looks at what a server has: with every new connection, when it tells of a change, and every now and then. */
export interface Sightings {
  /** Of the connection by which it is known. */
  take(session: Session, signal: AbortSignal): Promise<void>
  /** Of an agent's own connection: compares it with what was looked at. */
  compare(own: OwnConnection, session: Session, signal: AbortSignal): Promise<void>
  /** The same as soon as it may be: once it is up. */
  compareAgain(own: OwnConnection): void
  /** As soon as it may be: once there is a connection. */
  again(): void
  /** There is one, by which it is known or which an agent has to itself: what came in while it was being opened is looked at. */
  up(own?: OwnConnection): void
  /** From here on nothing is listed by itself, and nothing written down: what is opened to finish with it is compared. */
  stop(): void
}

/** The connection that an agent has to itself. */
export interface OwnConnection {
  readonly agent: string
  readonly connection: Pick<Connection, 'session'>
}

export interface SightingsDeps {
  readonly clock: Clock
  readonly verdicts: Pick<Verdicts, 'see'>
  readonly own: Pick<OwnDefinitions, 'compare' | 'took'>
  readonly acquaintance: Acquaintance
  config(): UpstreamConfig
  /** The connection by which it is known. */
  main(): Pick<Connection, 'session' | 'suspect'>
  /** Names of tools that are not its own, once they are known. */
  otherTools(): Promise<OtherNames>
  note(text: string): void
}

/** How often a server is asked again what it has: one that tells of changes and was heard all the while, and any other. */
const RELIST_TELLING_MS = 10 * 60_000
const RELIST_MS = 60_000
const LONG_AGO = Number.NEGATIVE_INFINITY
const RELIST_FAILED_MS = 15_000
/** Whoever fails so often when it is asked what it has is not asked again at once. */
const MOST_FAILED_LISTS = 3
/** What has failed for so long is no moment's trouble: nobody knows by now what it has. */
const UNLISTED_AFTER_MS = 30_000

export function createSightings(deps: SightingsDeps): Sightings {
  const { clock, note } = deps
  const relisting = createRelisting({ clock, list: listAgain })
  /** How often it could not be listed again, one after the other, and since when. */
  let failures = { count: 0, since: 0 }
  const busyPauses = createBusyPauses()
  /** Of what each connection has given a list. */
  const kinds = new WeakMap<Session, readonly ListKind[]>()
  /** Why it does not list what it has, as it was noted last. */
  const refusals = new Map<ListKind, string>()
  let isOver = false
  /** When it was last asked what it has, where it listed all that is known of it. */
  let askedAt = LONG_AGO

  async function take(session: Session, signal: AbortSignal, isStillThere = () => true): Promise<void> {
    const begunAt = clock.now()
    relisting.begun()
    const listing = await fetchListing(session, signal, refused)
    for (const kind of listedKinds(listing)) refusals.delete(kind)
    // What one has that is about to stop says nothing of the one in its place.
    if (!isStillThere()) throw new Error('Another one is there in its place.')
    const missing = kinds.get(session)?.some(kind => listing[kind] === undefined) ?? false
    // A moment's trouble of a server that has listed it before costs nobody anything.
    const isSpared = missing && !isLasting()
    await see(session, listing, { begunAt, signal, isSpared })
    if (isSpared) throw new Unlisted('It refuses to list all that it has.')
    if (!missing) failures = { count: 0, since: 0 }
  }

  /** Many a server has no such method for things of which it says that it may have some: then it has none. */
  function refused(kind: ListKind, { code, message }: RpcError): void {
    const isNone = code === RPC.methodNotFound && kind !== 'tools'
    if (isNone || refusals.get(kind) === message) return
    refusals.set(kind, message)
    note(`It does not list its ${kind}: ${message}`)
  }

  async function see(session: Session, listing: Listing, { begunAt, signal, isSpared }: ListingRound): Promise<void> {
    const others = await deps.otherTools()
    // It may be forgotten by now, and another one of its name be there.
    if (isOver) return void (await deps.own.compare(session, signal))
    const changed = await deps.verdicts.see(listing, others)
    const isWhole = !isSpared && (await deps.own.took(session, listing))
    if (!isSpared) kinds.set(session, listedKinds(listing))
    // Last, so that whoever waits for its first start does not take it for one that is late.
    if (!isOver) deps.acquaintance.remember(session)
    askedAt = isWhole && listing.tools !== undefined ? begunAt : LONG_AGO
    busyPauses.over()
    relisting.listed({ changed, tookMs: clock.now() - begunAt })
    listLater()
  }

  function isLasting(): boolean {
    return failures.count > 0 && clock.now() - failures.since >= UNLISTED_AFTER_MS
  }

  /** Not every server tells of changes, and what it says today may not be what was looked at. */
  function listLater(): void {
    relisting.later(RELIST_MS, () => {
      const session = deps.main().session()
      return session === undefined || isOld(session, askedAt, clock.now())
    })
  }

  async function listAgain(): Promise<void> {
    const session = deps.main().session()
    // Whoever is being opened is asked once it is up.
    if (!session) return
    const begunAt = clock.now()
    try {
      await inTime(deps, signal => take(session, signal, () => deps.main().session() === session))
    } catch (error) {
      note(`What it has could not be listed again: ${messageOf(error)}`)
      relisting.listed({ changed: false, tookMs: clock.now() - begunAt })
      // Whatever it has told is not known yet.
      askedAt = LONG_AGO
      listLater()
      const pauseMs = busyPauses.after(error) ?? (error instanceof TooLong ? RELIST_FAILED_MS : undefined)
      if (pauseMs !== undefined) relisting.later(pauseMs, () => true)
      if (doesNotList(error)) await failed(session, begunAt)
      if (error instanceof SendFailure) void deps.main().suspect(session)
    }
  }

  async function failed(session: Session, begunAt: number): Promise<void> {
    failures = { count: failures.count + 1, since: failures.count === 0 ? begunAt : failures.since }
    // One exchange may break without the others, and what changed would stay unknown until the next start.
    if (failures.count < MOST_FAILED_LISTS) return relisting.soon()
    if (!isLasting()) return relisting.later(RELIST_FAILED_MS, () => true)
    note('It has not listed what it has for a while: nothing of that is used until it does.')
    const seeing = inTime(deps, signal => see(session, unlistedBy(session), { begunAt, signal, isSpared: false }))
    await seeing.catch(error =>
      note(`That it does not list what it has could not be written down: ${messageOf(error)}`),
    )
  }

  function stop(): void {
    isOver = true
    relisting.stop()
    stopComparing()
  }

  const again = relisting.soon
  const { compare, compareAgain, upAgain, stopComparing } = comparing({ ...deps, isOver: () => isOver, again })
  return { take, compare, compareAgain, again, up: own => (own ? upAgain(own) : relisting.up()), stop }
}

function inTime<T>({ clock, config }: SightingsDeps, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return withTimeLimit(config().startSeconds * 1000, { clock, reason: new TooLong('It took too long.') }, work)
}

class TooLong extends Error {}

/** It answered without all that it had listed before. */
class Unlisted extends Error {}

/** One that only takes long, or asks to come back later, may be at work. */
function doesNotList(error: unknown): boolean {
  return error instanceof Unlisted || (error instanceof SendFailure && busyMsOf(error) === undefined)
}

interface ListingRound {
  readonly begunAt: number
  readonly signal: AbortSignal
  /** What is missing in it is not held against the server yet. */
  readonly isSpared: boolean
}

interface ComparingDeps extends SightingsDeps {
  isOver(): boolean
  again(): void
}

interface Comparing extends Pick<Sightings, 'compare' | 'compareAgain'> {
  upAgain(own: OwnConnection): void
  stopComparing(): void
}

/** What is different for one agent may be different for all. */
function comparing(deps: ComparingDeps): Comparing {
  const { clock, note, isOver, again } = deps
  const relistings = new WeakMap<OwnConnection['connection'], Relisting>()
  const busyPauses = new WeakMap<OwnConnection['connection'], BusyPauses>()
  /** Those that will be looked at again by themselves. */
  const watched = new Set<Relisting>()

  /** Each pays for its own: what one agent's server tells keeps nobody else's from being looked at. */
  function relistingOf(own: OwnConnection): Relisting {
    const known = relistings.get(own.connection)
    if (known) return known
    const relisting = createRelisting({ clock, list: () => listAgain(own, relisting.listed) })
    relistings.set(own.connection, relisting)
    return relisting
  }

  function busyPausesOf({ connection }: OwnConnection): BusyPauses {
    const pauses = busyPauses.get(connection) ?? createBusyPauses()
    busyPauses.set(connection, pauses)
    return pauses
  }

  async function isSame(own: OwnConnection, session: Session, signal: AbortSignal): Promise<boolean> {
    const begunAt = clock.now()
    relistingOf(own).begun()
    const same = await deps.own.compare(session, signal, own.agent)
    if (!same) again()
    busyPauses.get(own.connection)?.over()
    compareLater(own, begunAt)
    return same
  }

  /** What it shows to one agent it may change for that one alone, and it need not tell. */
  function compareLater(own: OwnConnection, askedAt: number, inMs = RELIST_MS): void {
    if (isOver()) return
    const relisting = relistingOf(own)
    watched.add(relisting)
    relisting.later(inMs, () => {
      const session = own.connection.session()
      // Whoever is opened again is compared then.
      if (!session) watched.delete(relisting)
      return session === undefined || isOld(session, askedAt, clock.now())
    })
  }

  async function listAgain(own: OwnConnection, listed: Relisting['listed']): Promise<void> {
    const session = own.connection.session()
    if (!session || isOver()) return
    const begunAt = clock.now()
    let isChanged = false
    try {
      isChanged = !(await inTime(deps, signal => isSame(own, session, signal)))
    } catch (error) {
      note(`[${own.agent}] What it has could not be listed again: ${messageOf(error)}`)
      // Whatever it has told is not known yet.
      compareLater(own, LONG_AGO, busyPausesOf(own).after(error) ?? RELIST_FAILED_MS)
    }
    listed({ changed: isChanged, tookMs: clock.now() - begunAt })
  }

  return {
    compare: async (...given) => void (await isSame(...given)),
    compareAgain: own => relistingOf(own).soon(),
    upAgain: own => relistingOf(own).up(),
    stopComparing() {
      for (const relisting of watched) relisting.stop()
      watched.clear()
    },
  }
}

/** Whether what was listed then may not be what it has now. */
function isOld(session: Session, then: number, now: number): boolean {
  return !hasToldSince(session, then) || now - then >= RELIST_TELLING_MS
}

/** Whether it would have told of every change since then, by its own word and as far as it could be heard. */
function hasToldSince({ facts, listeningSince }: Session, then: number): boolean {
  const { tools } = facts.capabilities
  if (!isRecord(tools) || tools.listChanged !== true) return false
  const since = listeningSince()
  return since !== undefined && since <= then
}
