import { messageOf, type UpstreamConfig } from '../../../contracts/index.ts'
import type { Cancel, Clock } from '../../../core/kernel/index.ts'
import type { Listing, OtherNames } from '../../../core/upstreams/index.ts'
import { isRecord } from '../../mcp-wire/index.ts'
import type { ServerFacts } from '../connection/connect-as.ts'
import type { Connection } from '../connection/connection.ts'
import { withTimeLimit } from '../peer/abort.ts'
import { busyMsOf, RPC, type RpcError, SendFailure } from '../peer/channel.ts'
import { fetchListing, listedKinds, unlistedBy } from '../peer/fetch-listing.ts'
import type { ListKind, Session } from '../peer/session.ts'
import type { ReviewQueue } from './offer.ts'
import type { OwnDefinitions } from './own-definitions.ts'

/** Lists a server's definitions: with every new connection, after a notification, and periodically. */
export interface DefinitionLister {
  take(session: Session, signal: AbortSignal): Promise<void>
  /** Over an agent's own connection: compares the listing with the accepted definitions. */
  compare(own: OwnConnection, session: Session, signal: AbortSignal): Promise<void>
  compareAgain(own: OwnConnection): void
  /** Lists again soon, once there is a connection. */
  relistSoon(): void
  /** A connection is up, the main one or an agent's own: handles notifications that came while it was opened. */
  onUp(own?: OwnConnection): void
  /**
   * From now on nothing is listed automatically and nothing is stored: connections still being opened are only
   * compared.
   */
  stop(): void
}

export interface OwnConnection {
  readonly agent: string
  readonly connection: Pick<Connection, 'session'>
}

interface DefinitionListerDeps {
  readonly clock: Clock
  readonly reviewQueue: Pick<ReviewQueue, 'see'>
  readonly own: Pick<OwnDefinitions, 'compare' | 'onMainListed'>
  readonly serverFacts: ServerFacts
  config(): UpstreamConfig
  main(): Pick<Connection, 'session' | 'verifyAlive'>
  otherTools(): Promise<OtherNames>
  note(text: string): void
}

/** How often a server is listed again that notifies about changes and was heard all the time, and any other server. */
const RELIST_NOTIFYING_MS = 10 * 60_000
const RELIST_MS = 60_000
const LONG_AGO = Number.NEGATIVE_INFINITY
const RELIST_FAILED_MS = 15_000
/** After so many failures in a row a server is not listed again at once. */
const MOST_FAILED_LISTS = 3
/** A failure that lasts so long is not transient: the definitions are unknown by now. */
const UNLISTED_AFTER_MS = 30_000

export function createDefinitionLister(deps: DefinitionListerDeps): DefinitionLister {
  const { clock, note } = deps
  const refreshTimer = createRefreshTimer({ clock, list: listAgain })
  let failures = { count: 0, since: 0 }
  const busyPauses = createBusyPauses()
  const kinds = new WeakMap<Session, readonly ListKind[]>()
  const refusals = new Map<ListKind, string>()
  let isOver = false
  /** When the last listing of all known kinds began. */
  let askedAt = LONG_AGO

  async function take(session: Session, signal: AbortSignal, isStillThere = () => true): Promise<void> {
    const begunAt = clock.now()
    refreshTimer.onListingBegun()
    const listing = await fetchListing(session, signal, refused)
    for (const kind of listedKinds(listing)) refusals.delete(kind)
    // The listing of a server that is about to stop says nothing about its replacement.
    if (!isStillThere()) throw new Error('Another one is there in its place.')
    const missing = kinds.get(session)?.some(kind => listing[kind] === undefined) ?? false
    // A transient failure of a server that has listed the kind before is tolerated.
    const isSpared = missing && !isLasting()
    await see(session, listing, { begunAt, signal, isTolerated: isSpared })
    if (isSpared) throw new Unlisted('It refuses to list all that it has.')
    if (!missing) failures = { count: 0, since: 0 }
  }

  /** Many servers announce prompts or resources without the method: then they have none. */
  function refused(kind: ListKind, { code, message }: RpcError): void {
    const isNone = code === RPC.methodNotFound && kind !== 'tools'
    if (isNone || refusals.get(kind) === message) return
    refusals.set(kind, message)
    note(`It does not list its ${kind}: ${message}`)
  }

  async function see(
    session: Session,
    listing: Listing,
    { begunAt, signal, isTolerated }: ListingRound,
  ): Promise<void> {
    const others = await deps.otherTools()
    // The upstream may be removed by now, and another server have its name.
    if (isOver) return void (await deps.own.compare(session, signal))
    const changed = await deps.reviewQueue.see(listing, others)
    const isWhole = !isTolerated && (await deps.own.onMainListed(session, listing))
    if (!isTolerated) kinds.set(session, listedKinds(listing))
    // Last, so that a caller that waits for the first start does not take it for a late one.
    if (!isOver) deps.serverFacts.save(session)
    askedAt = isWhole && listing.tools !== undefined ? begunAt : LONG_AGO
    busyPauses.over()
    refreshTimer.onListed({ changed, tookMs: clock.now() - begunAt })
    listLater()
  }

  function isLasting(): boolean {
    return failures.count > 0 && clock.now() - failures.since >= UNLISTED_AFTER_MS
  }

  /** Not every server notifies about changes, and today's definitions may not be the reviewed ones. */
  function listLater(): void {
    refreshTimer.later(RELIST_MS, () => {
      const session = deps.main().session()
      return session === undefined || isOutdated(session, askedAt, clock.now())
    })
  }

  async function listAgain(): Promise<void> {
    const session = deps.main().session()
    if (!session) return
    const begunAt = clock.now()
    try {
      await inTime(deps, signal => take(session, signal, () => deps.main().session() === session))
    } catch (error) {
      note(`What it has could not be listed again: ${messageOf(error)}`)
      refreshTimer.onListed({ changed: false, tookMs: clock.now() - begunAt })
      askedAt = LONG_AGO
      listLater()
      const pauseMs = busyPauses.after(error) ?? (error instanceof TooLong ? RELIST_FAILED_MS : undefined)
      if (pauseMs !== undefined) refreshTimer.later(pauseMs, () => true)
      if (doesNotList(error)) await failed(session, begunAt)
      if (error instanceof SendFailure) void deps.main().verifyAlive(session)
    }
  }

  async function failed(session: Session, begunAt: number): Promise<void> {
    failures = { count: failures.count + 1, since: failures.count === 0 ? begunAt : failures.since }
    // One exchange may fail alone, and the change would stay unknown until the next start.
    if (failures.count < MOST_FAILED_LISTS) return refreshTimer.soon()
    if (!isLasting()) return refreshTimer.later(RELIST_FAILED_MS, () => true)
    note('It has not listed what it has for a while: nothing of that is used until it does.')
    const seeing = inTime(deps, signal => see(session, unlistedBy(session), { begunAt, signal, isTolerated: false }))
    await seeing.catch(error =>
      note(`That it does not list what it has could not be written down: ${messageOf(error)}`),
    )
  }

  function stop(): void {
    isOver = true
    refreshTimer.stop()
    stopComparing()
  }

  const again = refreshTimer.soon
  const { compare, compareAgain, upAgain, stopComparing } = comparing({ ...deps, isOver: () => isOver, again })
  return {
    take,
    compare,
    compareAgain,
    relistSoon: again,
    onUp: own => (own ? upAgain(own) : refreshTimer.onUp()),
    stop,
  }
}

function inTime<T>({ clock, config }: DefinitionListerDeps, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return withTimeLimit(config().startSeconds * 1000, { clock, reason: new TooLong('It took too long.') }, work)
}

class TooLong extends Error {}

/** The server answered without all that it had listed before. */
class Unlisted extends Error {}

/** A slow or busy server may be working. */
function doesNotList(error: unknown): boolean {
  return error instanceof Unlisted || (error instanceof SendFailure && busyMsOf(error) === undefined)
}

interface ListingRound {
  readonly begunAt: number
  readonly signal: AbortSignal
  readonly isTolerated: boolean
}

interface ComparingDeps extends DefinitionListerDeps {
  isOver(): boolean
  again(): void
}

interface Comparing extends Pick<DefinitionLister, 'compare' | 'compareAgain'> {
  upAgain(own: OwnConnection): void
  stopComparing(): void
}

/**
 * Compares agents' own connections. A difference for one agent may be one for all, so the main connection is listed
 * again.
 */
function comparing(deps: ComparingDeps): Comparing {
  const { clock, note, isOver, again } = deps
  const refreshTimers = new WeakMap<OwnConnection['connection'], RefreshTimer>()
  const busyPauses = new WeakMap<OwnConnection['connection'], BusyPauses>()
  const watched = new Set<RefreshTimer>()

  /** Each connection has its own budget: notifications of one agent's server do not delay the others. */
  function refreshTimerOf(own: OwnConnection): RefreshTimer {
    const known = refreshTimers.get(own.connection)
    if (known) return known
    const refreshTimer = createRefreshTimer({ clock, list: () => listAgain(own, refreshTimer.onListed) })
    refreshTimers.set(own.connection, refreshTimer)
    return refreshTimer
  }

  function busyPausesOf({ connection }: OwnConnection): BusyPauses {
    const pauses = busyPauses.get(connection) ?? createBusyPauses()
    busyPauses.set(connection, pauses)
    return pauses
  }

  async function isSame(own: OwnConnection, session: Session, signal: AbortSignal): Promise<boolean> {
    const begunAt = clock.now()
    refreshTimerOf(own).onListingBegun()
    const same = await deps.own.compare(session, signal, own.agent)
    if (!same) again()
    busyPauses.get(own.connection)?.over()
    compareLater(own, begunAt)
    return same
  }

  /** A server may change what it shows to one agent only, without a notification. */
  function compareLater(own: OwnConnection, askedAt: number, inMs = RELIST_MS): void {
    if (isOver()) return
    const refreshTimer = refreshTimerOf(own)
    watched.add(refreshTimer)
    refreshTimer.later(inMs, () => {
      const session = own.connection.session()
      if (!session) watched.delete(refreshTimer)
      return session === undefined || isOutdated(session, askedAt, clock.now())
    })
  }

  async function listAgain(own: OwnConnection, listed: RefreshTimer['onListed']): Promise<void> {
    const session = own.connection.session()
    if (!session || isOver()) return
    const begunAt = clock.now()
    let isChanged = false
    try {
      isChanged = !(await inTime(deps, signal => isSame(own, session, signal)))
    } catch (error) {
      note(`[${own.agent}] What it has could not be listed again: ${messageOf(error)}`)
      compareLater(own, LONG_AGO, busyPausesOf(own).after(error) ?? RELIST_FAILED_MS)
    }
    listed({ changed: isChanged, tookMs: clock.now() - begunAt })
  }

  return {
    compare: async (...given) => void (await isSame(...given)),
    compareAgain: own => refreshTimerOf(own).soon(),
    upAgain: own => refreshTimerOf(own).onUp(),
    stopComparing() {
      for (const refreshTimer of watched) refreshTimer.stop()
      watched.clear()
    },
  }
}

function isOutdated(session: Session, then: number, now: number): boolean {
  return !wasNotifiedSince(session, then) || now - then >= RELIST_NOTIFYING_MS
}

/** Whether the server would have notified of every change since then, by its own word and as far as it was heard. */
function wasNotifiedSince({ facts, listeningSince }: Session, then: number): boolean {
  const { tools } = facts.capabilities
  if (!isRecord(tools) || tools.listChanged !== true) return false
  const since = listeningSince()
  return since !== undefined && since <= then
}

/** Decides when a server is listed again: soon after a notification, and periodically. */
interface RefreshTimer {
  /** As soon as the budget allows. */
  soon(): void
  /** A listing covers earlier notifications. */
  onListingBegun(): void
  /** There is a connection: handles notifications since the last listing began that found none. */
  onUp(): void
  /** After this time, unless it happens before; after as long again where it is not needed then. */
  later(ms: number, isNeeded: () => boolean): void
  /** The listing ended: whether anything changed, and how long it took. */
  onListed(facts: { readonly changed: boolean; readonly tookMs: number }): void
  stop(): void
}

interface RefreshTimerDeps {
  readonly clock: Clock
  /** May do nothing without a connection; it is repeated when there is one. */
  list(): Promise<void>
}

/** Notifications in quick succession are handled together. */
const PAUSE_MS = 100
/** A listing costs a multiple of the time it took, and more if it made every agent reload. */
const PART_OF_THE_TIME = 20
const PRICE_MS = { same: 1_000, changed: 6_000 }
/** A quiet server saves budget for a busy moment. */
const SAVED_MS = 60_000

export function createRefreshTimer({ clock, list }: RefreshTimerDeps): RefreshTimer {
  let last = Number.NEGATIVE_INFINITY
  /** When all listings so far are paid for. */
  let paidAt = Number.NEGATIVE_INFINITY
  /** A planned listing covers further notifications. */
  let isDue = false
  /** A notification came since the last listing began: that listing may be too early for it. */
  let isWanted = false
  let isOver = false
  let lists: Promise<void> = Promise.resolve()
  let cancelLater: Cancel = () => {}

  function soon(): void {
    isWanted = true
    if (isDue || isOver) return
    isDue = true
    const next = Math.max(last + PAUSE_MS, paidAt - SAVED_MS)
    clock.after(Math.max(0, next - clock.now()), () => {
      lists = lists.then(ask).catch(() => {})
    })
  }

  async function ask(): Promise<void> {
    isDue = false
    if (!isOver) await list()
  }

  function later(ms: number, isNeeded: () => boolean): void {
    cancelLater()
    if (!isOver) cancelLater = clock.after(ms, () => (isNeeded() ? soon() : later(ms, isNeeded)))
  }

  return {
    soon,
    onListingBegun() {
      isWanted = false
    },
    onUp() {
      if (isWanted) soon()
    },
    later,
    onListed({ changed, tookMs }) {
      last = clock.now()
      const price = Math.max(changed ? PRICE_MS.changed : PRICE_MS.same, tookMs * PART_OF_THE_TIME)
      paidAt = Math.max(paidAt, last) + Math.min(price, SAVED_MS)
    },
    stop() {
      isOver = true
      cancelLater()
    },
  }
}

/** Backoff before a busy server is listed again. */
interface BusyPauses {
  /** The pause after this failure; nothing where the server did not say that it is busy. */
  after(error: unknown): number | undefined
  over(): void
}

/** Notified changes are unknown meanwhile, so the pause is no longer than the periodic interval. */
const PAUSES = { leastMs: 1_000, longestMs: 60_000 }

function createBusyPauses(): BusyPauses {
  let count = 0
  return {
    after(error) {
      const askedMs = error instanceof SendFailure ? busyMsOf(error) : undefined
      if (askedMs === undefined) {
        count = 0
        return undefined
      }
      // Grows, or a server that is always busy would get nothing but requests.
      const grownMs = PAUSES.leastMs * 2 ** count++
      return Math.min(Math.max(askedMs, grownMs), PAUSES.longestMs)
    },
    over() {
      count = 0
    },
  }
}
