import { messageOf, type UpstreamConfig, type UpstreamStatus } from '../../contracts/index.ts'
import { type DependencyDefinition, defineDependency } from '../../core/catalogue/index.ts'
import { type Clock, createListeners, type Digest, type Random, upstreamDependency } from '../../core/kernel/index.ts'
import type { Lease } from '../../core/store/index.ts'
import { excerptOf, type OtherNames, type PinBook, type UpstreamMemory } from '../../core/upstreams/index.ts'
import { type Connector, createConnector, createServerFacts, type ServerFacts } from './connection/connect-as.ts'
import { type Connection, createConnection } from './connection/connection.ts'
import { SCHEDULED } from './connection/connection-state-machine.ts'
import { type Connections, createConnections, type RevokedAgents, type Separation } from './connection/connections.ts'
import { createSingleConnection } from './connection/single-connection.ts'
import type { Target } from './connection/target.ts'
import { createDefinitionLister, type DefinitionLister, type OwnConnection } from './offer/list-definitions.ts'
import { createOffer, createReviewQueue, type Offer, type OfferDeps, type ReviewQueue } from './offer/offer.ts'
import { createOwnDefinitions, type OwnDefinitions } from './offer/own-definitions.ts'
import {
  createLatencies,
  createService,
  createUpstreamCalls,
  type Latencies,
  type Service,
} from './offer/upstream-calls.ts'
import {
  createUpstreamSubscriptions,
  type SubscriptionConnection,
  type UpstreamSubscriptions,
} from './offer/upstream-subscriptions.ts'
import { CANCELLED_WORK_MS } from './peer/request-attribution.ts'
import type { Session, SessionEvents } from './peer/session.ts'
import type { ChildLog } from './transport/child-log.ts'
import { mayDownload, offReason, SWITCHED_OFF, startMsOf } from './upstream-entry.ts'

export interface UpstreamDeps {
  readonly name: string
  readonly config: UpstreamConfig
  readonly target: Target
  readonly log: ChildLog
  readonly pins: Pick<PinBook, 'recall' | 'see' | 'recheck' | 'claim'>
  readonly memory: Pick<UpstreamMemory, 'recall' | 'remember'>
  readonly clock: Clock
  readonly random: Random
  readonly digest: Digest
  readonly client: { readonly name: string; readonly version: string }
  readonly callMs: number
  /** How long a call waits for a server that restarts. */
  readonly restartWaitMs: number
  /** How long a server may be gone before it counts as down. */
  readonly recoveringMs: number
  /** Only its holder runs the server; without a lease every process does. */
  readonly lease?: Lease | undefined
  /** Agents that lost this upstream, or one that it replaced. */
  readonly revokedAgents: Pick<RevokedAgents, 'since'>
  otherTools(): Promise<OtherNames>
  /** The same for all upstreams of one configuration. */
  readonly mountedAt: number
  onChange(): void
  onState(): void
}

export interface WiredUpstream {
  readonly connections: Connections
  readonly connector: Connector
  readonly subscriptions: UpstreamSubscriptions
  readonly serverFacts: ServerFacts
  readonly lister: DefinitionLister
  readonly reviewQueue: ReviewQueue
  readonly offer: Offer
  readonly service: Service
  readonly own: OwnDefinitions
  readonly latencies: Latencies
  readonly declinedCounter: DeclinedCounter
}

/**
 * Wires the parts together. Three references are circular, so they are resolved when they are used: `dependency`
 * reads `connections`, and a connection reports its changes to it; `opening` uses parts that use and end connections;
 * `own` compares with `offer`, whose `calls` are checked by `own`.
 */
export function wireUpstream(deps: UpstreamDeps, config: () => UpstreamConfig): WiredUpstream {
  const { name, target, log, clock, digest } = deps
  const note = (text: string) => log.add('gateway', text)
  const dependency = createUpstreamDependency(name, note, async (...how) => {
    const off = offReason(config())
    // A disabled upstream is probed only while it is being enabled, just before its new configuration arrives.
    if (off === SWITCHED_OFF) return { up: false, pending: true, reason: 'It is being switched on.' }
    if (off !== undefined) return { up: false, reason: off }
    const found = await connections.probe(...how)
    // A server that was never connected may be downloading for minutes.
    const reason = offer.verdict() ? undefined : downloadReason({ connections, serverFacts, offer }, config())
    return reason === undefined ? found : { up: false, pending: true, reason }
  })
  const latencies = createLatencies()
  const declinedCounter = createDeclinedCounter(clock)
  const serverFacts = createServerFacts({ ...deps, fingerprint: digest(target.text), note })
  const listMs = () => config().startSeconds * 1000
  const own = createOwnDefinitions({ upstream: name, clock, digest, listMs, verdict: () => offer.verdict() })
  const connections: Connections = createConnections({
    upstream: name,
    isSeparate: config().connection === 'perAgent',
    hasCredentials: agent => connector.hasCredentials(agent),
    isConnectedAs: agent => connector.isConnectedAs(agent),
    hasSubscribers: connection => subscriptions.hasSubscribers(connection),
    onEvicted: connection => subscriptions.onEvicted(connection),
    onCreated: () => subscriptions.onSlotFree(),
    create(agent) {
      const hasSubscribers = () => subscriptions.hasSubscribers(made)
      const onOwnState = () => subscriptions.onSlotFree()
      const open = (signal: AbortSignal) => opening.open({ agent, connection: made }, signal)
      const onUp = (session: Session) => opening.up({ agent, connection: made }, session)
      const own = { hasSubscribers, onOwnState, open, onUp }
      const made: Connection = createLeasedConnection(agent, { ...deps, config, dependency, serverFacts, ...own })
      return made
    },
  })
  const main = () => connections.main
  const isInUse = (connection: SubscriptionConnection) => connections.all().some(one => one === connection)
  const subscriptions = createUpstreamSubscriptions({ connectionOf: connections.forSubscriptions, isInUse, note })
  const separate = (why: Separation) => {
    connections.separate(why)
    subscriptions.reassign()
  }
  const service = createService({ connectionOf: connections.forCalls, check: own.check, subscriptions })
  const { serving } = service
  const calls = createUpstreamCalls({ ...deps, upstream: name, budgetMs: deps.restartWaitMs, latencies, serving })
  const watch: OfferDeps['watch'] = (...wish) => serving().subscriptions.add(...wish)
  const offer = createOffer({ ...deps, dependency: dependency.definition, calls, config, watch })
  const reviewQueue = createReviewQueue({ ...deps, offer, config, note })
  const lister = createDefinitionLister({ ...deps, reviewQueue, own, serverFacts, config, main, note })
  const connector = createConnector({ ...deps, serverFacts, config, separate: () => separate('refused') })
  const opening = createConnectionOpener({
    connector,
    lister,
    subscriptions,
    connections,
    declinedCounter,
    separate: () => separate('crowded'),
    isInUse,
    log,
  })
  const known = { serverFacts, lister, reviewQueue, own }
  return { connections, connector, subscriptions, ...known, offer, service, latencies, declinedCounter }
}

/** Idle time after which an agent's own connection is closed. */
const OWN_IDLE_MS = 5 * 60_000

interface Connecting extends UpstreamDeps {
  readonly dependency: UpstreamDependency
  readonly serverFacts: Pick<ServerFacts, 'hasAnswered'>
  hasSubscribers(): boolean
  /** The state of an agent's own connection has changed: it may be useless now, and make room. */
  onOwnState(): void
  open(signal: AbortSignal): Promise<Session>
  onUp(session: Session): void
}

type Connectable = Omit<Connecting, 'config'> & ConfigNow

/** A connection that exists while this process may run the server. */
function createLeasedConnection(agent: string | undefined, deps: Connectable): Connection {
  const { lease, clock, onState } = deps
  const dependency = deps.dependency.definition.name
  const create = () => createOwnedConnection(agent, deps)
  if (!lease) return create()
  const onChange = () => {
    if (agent !== undefined) return deps.onOwnState()
    deps.dependency.changed()
    onState()
  }
  return createSingleConnection({ lease, clock, dependency, target: deps.target, create, onChange })
}

function createOwnedConnection(agent: string | undefined, deps: Connectable): Connection {
  const {
    name,
    clock,
    random,
    target,
    log,
    serverFacts,
    hasSubscribers,
    open,
    onUp,
    config,
    callMs,
    onState,
    onOwnState,
  } = deps
  const { idleSeconds } = config()
  const dependency = deps.dependency.definition.name
  const isMain = agent === undefined
  const idleMs = idleSeconds === undefined ? undefined : idleSeconds * 1000
  const changed = () => {
    deps.dependency.changed()
    onState()
  }
  return createConnection({
    agent,
    clock,
    random,
    upstream: name,
    dependency,
    target,
    startMs: () => startMsOf(config(), { isDownloaded: serverFacts.hasAnswered() }),
    callMs: () => longestCall(config(), callMs),
    idleMs: isMain ? idleMs : (idleMs ?? OWN_IDLE_MS),
    isKeptUp: isMain,
    hasSubscribers,
    open,
    stdoutNoise: log.noise,
    onUp,
    fingerprint: target.fingerprint,
    onChange: isMain ? changed : onOwnState,
    note: text => addOnce(log, isMain ? text : `[${agent}] ${text}`),
  })
}

/** A repeated failure is not logged again, unless the server has written something meanwhile. */
function addOnce(log: ChildLog, text: string): void {
  const [last] = log.lines({ limit: 1 })
  if (last?.from !== 'gateway' || last.text !== log.redact(text)) log.add('gateway', text)
}

interface ConfigNow {
  config(): UpstreamConfig
}

function longestCall({ timeoutMs, tools }: UpstreamConfig, otherwiseMs: number): number {
  return Math.max(timeoutMs ?? otherwiseMs, ...Object.values(tools).map(tool => tool.timeoutMs ?? 0))
}

/** Opens connections to a server, and handles their events. */
interface ConnectionOpener {
  /** A connection is not used before its definitions were checked. */
  open(opened: Opened, signal: AbortSignal): Promise<Session>
  /** Applies events that came in before there was a session. */
  up(opened: Opened, session: Session): void
}

interface Opened {
  readonly agent: string | undefined
  readonly connection: Connection
}

interface OpeningDeps extends EventParts {
  readonly connector: Connector
}

function createConnectionOpener(deps: OpeningDeps): ConnectionOpener {
  const { connector, lister, subscriptions } = deps
  return {
    async open(opened, signal) {
      const own = ownOf(opened)
      const events = eventsOf(opened, deps)
      const session = await (own ? connector.as(own.agent, events, signal) : connector.asShared(events, signal))
      try {
        await (own ? lister.compare(own, session, signal) : lister.take(session, signal))
        return session
      } catch (error) {
        await session.close()
        throw error
      }
    },
    up(opened, session) {
      lister.onUp(ownOf(opened))
      subscriptions.onConnected(opened.connection, session)
    },
  }
}

function ownOf({ agent, connection }: Opened): OwnConnection | undefined {
  return agent === undefined ? undefined : { agent, connection }
}

interface EventParts {
  readonly lister: DefinitionLister
  readonly subscriptions: UpstreamSubscriptions
  readonly connections: Pick<Connections, 'isSeparate'>
  readonly declinedCounter: DeclinedCounter
  readonly log: ChildLog
  separate(): void
  /** Notifications on a replaced connection are dropped. */
  isInUse(connection: Connection): boolean
}

const CROWDED =
  `It asked something while calls of several clients were under way, or cancelled less than ${CANCELLED_WORK_MS / 60_000} minutes before, ` +
  'and was told no.'

function eventsOf(opened: Opened, parts: EventParts): SessionEvents {
  const { lister, subscriptions, connections, declinedCounter, separate, isInUse, log } = parts
  const { connection } = opened
  const own = ownOf(opened)
  const whose = own ? `[${own.agent}] ` : ''
  return {
    onListChanged() {
      if (!isInUse(connection)) return
      if (own) lister.compareAgain(own)
      else lister.relistSoon()
    },
    onResourceUpdated: uri => subscriptions.onUpdated(connection, uri),
    onNotSubscribed(uri, reason) {
      log.add('gateway', `${whose}Nothing is heard of changes at "${excerptOf(log.redact(uri))}": ${excerptOf(reason)}`)
    },
    onLog: (level, text) => log.add('log', `${level}: ${text}`),
    onAmbiguousQuestion() {
      declinedCounter.add()
      const next = connections.isSeparate() ? '' : ' From now on each agent has its own connection.'
      separate()
      log.add('gateway', `${whose}${CROWDED}${next}`)
    },
  }
}

/** Counts questions declined because several clients had calls on the connection. */
interface DeclinedCounter {
  add(): void
  summary(): UpstreamStatus['unasked']
}

function createDeclinedCounter(clock: Clock): DeclinedCounter {
  let questions = 0
  let lastAt = 0
  return {
    add() {
      questions++
      lastAt = Math.round(clock.now())
    },
    summary: () => (questions === 0 ? undefined : { questions, lastAt }),
  }
}

interface UpstreamDependency {
  readonly definition: DependencyDefinition
  /** Has health probe the server at once. */
  changed(): void
}

/** The connection as a dependency. It reports its own changes, so it is rarely probed. */
function createUpstreamDependency(
  name: string,
  note: (text: string) => void,
  look: Connection['probe'],
): UpstreamDependency {
  const listeners = createListeners({ onError: error => note(`A listener failed: ${messageOf(error)}`) })
  const definition = defineDependency({
    name: upstreamDependency(name),
    title: `The MCP server ${name}`,
    probe: {
      describe: { kind: 'upstream', name },
      run: ({ signal, isRequested, isAwaited }) => look(signal, { isRequested, isAwaited }),
    },
    fix: `See what it says: quartermaster logs ${name}`,
    onChange: listeners.add,
  })
  return { definition, changed: listeners.notify }
}

interface DownloadParts {
  readonly connections: Pick<Connections, 'main'>
  readonly serverFacts: Pick<ServerFacts, 'hasAnswered'>
  readonly offer: Pick<Offer, 'verdict'>
}

export function mayNeedDownload({ serverFacts }: Pick<DownloadParts, 'serverFacts'>, config: UpstreamConfig): boolean {
  return config.enabled && !serverFacts.hasAnswered() && mayDownload(config)
}

/** The text about a download, for a server that was never connected and may need one. Nothing otherwise. */
export function downloadReason(parts: DownloadParts, config: UpstreamConfig): string | undefined {
  const { connections, offer } = parts
  const { kind, reason, downSince } = connections.main.state()
  if (!mayNeedDownload(parts, config) || downSince !== undefined) return undefined
  if (reason === SCHEDULED) return `${reason} What it runs may have to be downloaded first.`
  if (kind === 'starting') return `${reason} It may be downloading what it runs.`
  // A command that does not need the server does not begin with a download. Another command may have started it, and
  // reported how that ended.
  const isLeft = kind === 'idle' && !offer.verdict() && !connections.main.lastError()
  return isLeft ? 'It does not run. What it runs may have to be downloaded first.' : undefined
}
