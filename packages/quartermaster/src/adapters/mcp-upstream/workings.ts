import type { UpstreamConfig } from '../../contracts/index.ts'
import type { Clock, Digest, Random } from '../../core/kernel/index.ts'
import type { Lease } from '../../core/store/index.ts'
import type { OtherNames, PinBook, UpstreamMemory } from '../../core/upstreams/index.ts'
import { type Acquaintance, createAcquaintance } from './acquaintance/acquaintance.ts'
import { createMeetings, type Meetings } from './acquaintance/meetings.ts'
import { createSightings, type Sightings } from './acquaintance/sightings.ts'
import { createVerdicts, type Verdicts } from './acquaintance/verdicts.ts'
import type { Dismissals } from './dismissals.ts'
import { downloadReason } from './first-download.ts'
import { type Crowds, createCrowds } from './offer/crowds.ts'
import { createLatencies, type Latencies } from './offer/latencies.ts'
import { createOffer, type Offer, type OfferDeps } from './offer/offer.ts'
import { createOwnDefinitions, type OwnDefinitions } from './offer/own-definitions.ts'
import { createService, type Service } from './offer/service.ts'
import type { Hearing } from './offer/subscribers.ts'
import { createUpstreamCalls } from './offer/upstream-calls.ts'
import { createUpstreamDependency, type UpstreamDependency } from './offer/upstream-dependency.ts'
import { createUpstreamSubscriptions, type UpstreamSubscriptions } from './offer/upstream-subscriptions.ts'
import { createOpening } from './opening.ts'
import type { Session } from './session/session.ts'
import type { ChildLog } from './stdio/child-log.ts'
import { type Connection, createConnection } from './supervision/connection.ts'
import { type Connections, createConnections, type Separation } from './supervision/connections.ts'
import { createSingleConnection } from './supervision/single-connection.ts'
import { offReason, SWITCHED_OFF } from './switched-off.ts'
import { startMsOf } from './target/first-start.ts'
import type { Target } from './target/target.ts'

export interface UpstreamDeps {
  readonly name: string
  readonly config: UpstreamConfig
  readonly target: Target
  readonly log: ChildLog
  readonly pins: Pick<PinBook, 'recall' | 'see' | 'lookAgain' | 'claim'>
  readonly memory: Pick<UpstreamMemory, 'recall' | 'remember'>
  readonly clock: Clock
  readonly random: Random
  readonly digest: Digest
  readonly client: { readonly name: string; readonly version: string }
  /** How long a call may take for which nothing else is said. */
  readonly callMs: number
  /** How long a call waits for a server that is being restarted. */
  readonly restartWaitMs: number
  /** How long it may be gone before it counts as down. */
  readonly recoveringMs: number
  /** Whose holder alone runs it; everybody does when absent. */
  readonly lease?: Lease | undefined
  /** Who has lost it, or one that was in its place. */
  readonly dismissals: Pick<Dismissals, 'since'>
  /** Names of tools that are not its own, once they are known. */
  otherTools(): Promise<OtherNames>
  /** When it was taken into use; the same for all that came together. */
  readonly mountedAt: number
  /** A reload would find something new. */
  onChange(): void
  /** It stands elsewhere than before. */
  onState(): void
}

/** What an upstream is made of. */
export interface Workings {
  readonly connections: Connections
  readonly meetings: Meetings
  readonly subscriptions: UpstreamSubscriptions
  readonly acquaintance: Acquaintance
  readonly sightings: Sightings
  readonly verdicts: Verdicts
  readonly offer: Offer
  readonly service: Service
  readonly own: OwnDefinitions
  readonly latencies: Latencies
  readonly crowds: Crowds
}

/**
 * Puts the parts together. They know each other in three circles, so in each of these one asks for the other only when it needs it:
 * - `dependency` looks at `connections`, and a connection tells it that something has changed;
 * - a connection is opened (`opening`) by `meetings`, `sightings` and `subscriptions`, which ask for connections and end them;
 * - `own` compares with what `offer` shows, and the `calls` of that are checked by `own`.
 */
export function createWorkings(deps: UpstreamDeps, config: () => UpstreamConfig): Workings {
  const { name, target, log, clock, digest } = deps
  const note = (text: string) => log.add('gateway', text)
  const dependency = createUpstreamDependency(name, async (...how) => {
    const off = offReason(config())
    // Of one that is switched off health asks only once it is on again, and its new configuration is about to be taken.
    if (off === SWITCHED_OFF) return { up: false, pending: true, reason: 'It is being switched on.' }
    if (off !== undefined) return { up: false, reason: off }
    const found = await connections.look(...how)
    // What nobody has seen yet is missed by nobody, and may be downloaded for minutes.
    const reason = offer.verdict() ? undefined : downloadReason({ connections, acquaintance, offer }, config())
    return reason === undefined ? found : { up: false, pending: true, reason }
  })
  const latencies = createLatencies()
  const crowds = createCrowds(clock)
  const acquaintance = createAcquaintance({ ...deps, fingerprint: digest(target.text), note })
  const listMs = () => config().startSeconds * 1000
  const own = createOwnDefinitions({ upstream: name, clock, digest, listMs, verdict: () => offer.verdict() })
  const connections: Connections = createConnections({
    upstream: name,
    isSeparate: config().connection === 'perAgent',
    hasCredentials: agent => meetings.hasCredentials(agent),
    isMetAs: agent => meetings.isMetAs(agent),
    isWatched: connection => subscriptions.isWatched(connection),
    onDisplaced: connection => subscriptions.displaced(connection),
    onMade: () => subscriptions.roomMade(),
    create(agent) {
      const isWatched = () => subscriptions.isWatched(made)
      const onOwnState = () => subscriptions.roomMade()
      const open = (signal: AbortSignal) => opening.open({ agent, connection: made }, signal)
      const onUp = (session: Session) => opening.up({ agent, connection: made }, session)
      const own = { isWatched, onOwnState, open, onUp }
      const made: Connection = leased(agent, { ...deps, config, dependency, acquaintance, ...own })
      return made
    },
  })
  const main = () => connections.main
  const isInUse = (connection: Hearing) => connections.all().some(one => one === connection)
  const subscriptions = createUpstreamSubscriptions({ connectionOf: connections.toHear, isInUse, note })
  const separate = (why: Separation) => {
    connections.separate(why)
    subscriptions.settle()
  }
  const service = createService({ connectionOf: connections.of, check: own.check, subscriptions })
  const { serving } = service
  const calls = createUpstreamCalls({ ...deps, upstream: name, budgetMs: deps.restartWaitMs, latencies, serving })
  const watch: OfferDeps['watch'] = (...wish) => serving().subscriptions.add(...wish)
  const offer = createOffer({ ...deps, dependency: dependency.definition, calls, config, watch })
  const verdicts = createVerdicts({ ...deps, offer, config, note })
  const sightings = createSightings({ ...deps, verdicts, own, acquaintance, config, main, note })
  const meetings = createMeetings({ ...deps, acquaintance, config, separate: () => separate('refused') })
  const opening = createOpening({
    meetings,
    sightings,
    subscriptions,
    connections,
    crowds,
    separate: () => separate('crowded'),
    isInUse,
    log,
  })
  const known = { acquaintance, sightings, verdicts, own }
  return { connections, meetings, subscriptions, ...known, offer, service, latencies, crowds }
}

/** An agent that has not called for this long gets a new connection of its own with its next call. */
const OWN_IDLE_MS = 5 * 60_000

interface Connecting extends UpstreamDeps {
  readonly dependency: UpstreamDependency
  readonly acquaintance: Pick<Acquaintance, 'isMet'>
  isWatched(): boolean
  /** An agent's own stands elsewhere than before: it may be of no more use, and make room. */
  onOwnState(): void
  open(signal: AbortSignal): Promise<Session>
  onUp(session: Session): void
}

type Connectable = Omit<Connecting, 'config'> & ConfigNow

/** One that is there for as long as this process is to run the server. */
function leased(agent: string | undefined, deps: Connectable): Connection {
  const { lease, clock, onState } = deps
  const dependency = deps.dependency.definition.name
  const create = () => connect(agent, deps)
  if (!lease) return create()
  const onChange = () => {
    if (agent !== undefined) return deps.onOwnState()
    deps.dependency.changed()
    onState()
  }
  return createSingleConnection({ lease, clock, dependency, target: deps.target, create, onChange })
}

/** A connection for an agent, or the main one for nobody. */
function connect(agent: string | undefined, deps: Connectable): Connection {
  const { name, clock, random, target, log, acquaintance, isWatched, open, onUp, config, callMs, onState, onOwnState } =
    deps
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
    startMs: () => startMsOf(config(), { isDownloaded: acquaintance.isMet() }),
    callMs: () => longestCall(config(), callMs),
    idleMs: isMain ? idleMs : (idleMs ?? OWN_IDLE_MS),
    isKept: isMain,
    isWatched,
    open,
    noise: log.noise,
    onUp,
    fingerprint: target.fingerprint,
    onChange: isMain ? changed : onOwnState,
    note: text => addOnce(log, isMain ? text : `[${agent}] ${text}`),
  })
}

/** What failed in the same way as before tells nothing new, unless its server has said something meanwhile. */
function addOnce(log: ChildLog, text: string): void {
  const [last] = log.lines({ limit: 1 })
  if (last?.from !== 'gateway' || last.text !== log.redact(text)) log.add('gateway', text)
}

interface ConfigNow {
  config(): UpstreamConfig
}

/** How long the longest of its calls may take. */
function longestCall({ timeoutMs, tools }: UpstreamConfig, otherwiseMs: number): number {
  return Math.max(timeoutMs ?? otherwiseMs, ...Object.values(tools).map(tool => tool.timeoutMs ?? 0))
}
