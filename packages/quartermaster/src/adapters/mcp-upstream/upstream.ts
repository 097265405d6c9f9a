import { messageOf, type UpstreamConfig, type UpstreamLogLine, type UpstreamStatus } from '../../contracts/index.ts'
import { type DependencyDefinition, defineDependency, type SourceUnit } from '../../core/catalogue/index.ts'
import { type Clock, canonicalJson, type Digest, type Random } from '../../core/kernel/index.ts'
import type { PinBook, UpstreamMemory, Verdict } from '../../core/upstreams/index.ts'
import type { ChildLog } from './child-log.ts'
import { createLatencies } from './latencies.ts'
import { createOffer } from './offer.ts'
import { createOwnDefinitions } from './own-definitions.ts'
import { createRelisting } from './relisting.ts'
import { ChannelFailure, SendFailure } from './session/channel.ts'
import { fetchListing } from './session/fetch-listing.ts'
import { openSession } from './session/open-session.ts'
import type { Era, Session, SessionEvents } from './session/session.ts'
import { type Connection, createConnection } from './supervision/connection.ts'
import { type Connections, createConnections } from './supervision/connections.ts'
import type { Target } from './target.ts'
import { createUpstreamCalls } from './upstream-calls.ts'
import { countsOf, standingOf } from './upstream-status.ts'
import { createWatches } from './watches.ts'

export interface UpstreamDeps {
  readonly name: string
  readonly config: UpstreamConfig
  readonly target: Target
  readonly log: ChildLog
  readonly pins: Pick<PinBook, 'recall' | 'see'>
  readonly memory: Pick<UpstreamMemory, 'recall' | 'remember'>
  readonly clock: Clock
  readonly random: Random
  readonly digest: Digest
  readonly client: { readonly name: string; readonly version: string }
  /** How long a call waits for a server that is being restarted. */
  readonly restartWaitMs: number
  /** How long it may be gone before it counts as down. */
  readonly recoveringMs: number
  /** Names of tools that are not its own, once they are known. */
  otherTools(): Promise<Iterable<string>>
  /** When it was taken into use; the same for all that came together. */
  readonly mountedAt: number
  /** A reload would find something new. */
  onChange(): void
  /** It stands elsewhere than before. */
  onState(): void
}

/** One MCP server of someone else, mounted. */
export interface Upstream {
  readonly name: string
  /** What it brings now. */
  unit(): SourceUnit
  /** Takes another configuration, if what runs can stay as it is. */
  reconfigure(config: UpstreamConfig): boolean
  /** Whether nobody has ever seen what it has. */
  isUnseen(): boolean
  /** How many requests are under way. */
  busy(): number
  /** Since when it is known; whoever was there first keeps a name that another one wants. */
  knownSince(): number
  /** Whether the first attempt to reach it has not ended yet. */
  isStarting(): boolean
  /** Takes what is remembered of it. */
  remember(): Promise<void>
  start(): void
  status(): UpstreamStatus
  logs(limit: number): UpstreamLogLine[]
  restart(): Promise<void>
  /** A person decides about something of it. */
  review<T>(decide: () => Promise<T>): Promise<T>
  stop(): Promise<void>
}

/** An agent that has not called for this long gets a new connection of its own with its next call. */
const OWN_IDLE_MS = 5 * 60_000
/** How often a server is asked again what it has: one that says it tells of changes, and one that does not. */
const RELIST_TELLING_MS = 10 * 60_000
const RELIST_MS = 60_000
/** Whoever breaks off so often when it is asked what it has tells of the next change before it is asked again. */
const MOST_FAILED_LISTS = 3

export function createUpstream(deps: UpstreamDeps): Upstream {
  const { name, target, log, pins, memory, clock, digest } = deps
  let config = deps.config
  const latencies = createLatencies()
  const listeners = new Set<() => void>()
  /** Agents that have something of their own to show to the server. */
  const credentialed = new Set(Object.keys(config.agents))
  // With another command or address it may be another server.
  const fingerprint = digest(target.text)
  let era: Era | undefined
  let knownSince = deps.mountedAt
  let turns: Promise<unknown> = Promise.resolve()
  let failedLists = 0

  const dependency = dependencyOf(name, { look: signal => connections.main.look(signal), listeners })
  const connections: Connections = createConnections({
    upstream: name,
    isSeparate: config.connection === 'perAgent',
    hasCredentials: agent => credentialed.has(agent),
    create: agent => connect(agent),
  })
  const watches = createWatches(() => connections.main.session())
  const calls = createUpstreamCalls({
    upstream: name,
    dependency: dependency.name,
    clock,
    budgetMs: deps.restartWaitMs,
    latencies,
    connectionOf: agent => connections.of(agent),
    check: (...which) => own.check(...which),
  })
  const relisting = createRelisting({ clock, list: listAgain })
  const own = createOwnDefinitions({ upstream: name, digest, verdict: () => offer.verdict() })
  // One that is switched off is never started, whoever asks for it.
  if (!config.enabled) void connections.stop()
  const offer = createOffer({ name, digest, dependency, calls, config: () => config, watch: watches.add })

  function connect(agent: string | undefined): Connection {
    const idleMs = config.idleSeconds === undefined ? undefined : config.idleSeconds * 1000
    return createConnection({
      ...deps,
      dependency: dependency.name,
      startMs: config.startSeconds * 1000,
      idleMs: agent === undefined ? idleMs : (idleMs ?? OWN_IDLE_MS),
      isKept: agent === undefined,
      open: signal => open(agent, signal),
      fingerprint: target.fingerprint,
      onChange: () => agent === undefined && told(),
      note: text => log.add('gateway', agent === undefined ? text : `[${agent}] ${text}`),
    })
  }

  /** Health looks again at once. */
  function told(): void {
    for (const listener of [...listeners]) listener()
    deps.onState()
  }

  async function open(agent: string | undefined, signal: AbortSignal): Promise<Session> {
    const session = await (agent === undefined ? meetAsAnybody(signal) : meet(agent, signal))
    try {
      if (agent === undefined) {
        await takeListing(session, signal)
        watches.apply(session)
      } else await compare(session, signal)
      return session
    } catch (error) {
      await session.close()
      throw error
    }
  }

  /** What is different for one agent may be different for all. */
  async function compare(session: Session, signal: AbortSignal): Promise<void> {
    if (!(await own.compare(session, signal))) relisting.soon()
  }

  async function compareAgain(agent: string): Promise<void> {
    const session = connections.of(agent).session()
    if (!session) return
    await compare(session, AbortSignal.timeout(config.startSeconds * 1000)).catch(error => {
      log.add('gateway', `[${agent}] What it has could not be listed again: ${messageOf(error)}`)
    })
  }

  /**
   * A server that lets nobody in without credentials is asked what it has with those of the first agent that has some. Calls
   * never go that way: from then on each agent has a connection of its own, with what it may show.
   */
  async function meetAsAnybody(signal: AbortSignal): Promise<Session> {
    try {
      return await meet(undefined, signal)
    } catch (error) {
      const [first] = credentialed
      if (first === undefined || !isUnauthorized(error)) throw error
      connections.separate()
      return meet(first, signal)
    }
  }

  /** What is known about its era saves a question; where it does not hold any more it is found out anew. */
  async function meet(agent: string | undefined, signal: AbortSignal): Promise<Session> {
    const wanted: Era | 'auto' = config.era === 'auto' ? (era ?? 'auto') : config.era
    const options = { ...deps, open: target.open(agent), era: wanted, events: eventsFor(agent) }
    try {
      const session = await openSession(options, signal)
      era = session.facts.era
      return session
    } catch (error) {
      era = undefined
      throw error
    }
  }

  function eventsFor(agent: string | undefined): SessionEvents {
    const isMain = agent === undefined
    return {
      onListChanged: () => (isMain ? relisting.soon() : void compareAgain(agent)),
      onResourceUpdated: uri => isMain && watches.updated(uri),
      onLog: (level, text) => log.add('log', `${level}: ${text}`),
      onCrowded: separate,
    }
  }

  function separate(): void {
    if (connections.isSeparate()) return
    connections.separate()
    log.add('gateway', 'It asked something while several agents used it. From now on each has its own connection.')
  }

  async function takeListing(session: Session, signal: AbortSignal): Promise<void> {
    const begunAt = clock.now()
    const listing = await fetchListing(session, signal)
    const others = await deps.otherTools()
    const look = () => pins.see({ upstream: name, listing, policy: config, others })
    const changed = await inTurn(async () => take(await look()))
    relisting.listed({ changed, tookMs: clock.now() - begunAt })
    relistLater(session)
    const { era: spoken, server } = session.facts
    memory.remember(name, { era: spoken, server: { ...server }, fingerprint }, knownSince).catch(error => {
      // It only saves a question next time.
      log.add('gateway', `What it is could not be remembered: ${messageOf(error)}`)
    })
  }

  /** What is seen, remembered and decided happens one after the other, so that the last word is the newest. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = turns.then(work)
    turns = turn.catch(() => {})
    return turn
  }

  function take(verdict: Verdict | undefined): boolean {
    const isNew = verdict !== undefined && offer.take(verdict)
    if (isNew) deps.onChange()
    return isNew
  }

  /** Not every server tells of changes, and what it says today may not be what was looked at. */
  function relistLater({ facts }: Session): void {
    const { tools } = facts.capabilities
    const tells = typeof tools === 'object' && tools !== null && 'listChanged' in tools && tools.listChanged === true
    relisting.later(tells ? RELIST_TELLING_MS : RELIST_MS)
  }

  /** Another policy may offer what was held back, also of a server that sleeps. */
  function seeAgain(): void {
    if (connections.main.session()) relisting.soon()
    else if (config.enabled) connections.main.start()
  }

  async function listAgain(): Promise<void> {
    const session = connections.main.session()
    if (!session) return
    const controller = new AbortController()
    const cancel = clock.after(config.startSeconds * 1000, () => controller.abort(new Error('It took too long.')))
    try {
      await takeListing(session, controller.signal)
      failedLists = 0
    } catch (error) {
      log.add('gateway', `What it has could not be listed again: ${messageOf(error)}`)
      if (error instanceof SendFailure) askAfter(session)
    } finally {
      cancel()
    }
  }

  /** One exchange may break without the others, and what changed would stay unknown until the next start. */
  function askAfter(session: Session): void {
    void connections.main.suspect(session)
    if (++failedLists < MOST_FAILED_LISTS) relisting.soon()
  }

  return {
    name,
    unit: offer.unit,
    reconfigure(next) {
      if (wayOf(next) !== wayOf(config)) return false
      const isPolicy = next.newTools !== config.newTools || next.findings !== config.findings
      config = next
      offer.configured()
      if (isPolicy) seeAgain()
      return true
    },
    isUnseen: () => offer.verdict() === undefined,
    busy: () => connections.all().reduce((sum, one) => sum + (one.session()?.busy() ?? 0), 0),
    knownSince: () => knownSince,
    isStarting: () => connections.main.state().kind === 'starting' && connections.main.lastError() === undefined,
    async remember() {
      const [verdict, known, signedIn] = await Promise.all([
        pins.recall(name, config),
        memory.recall(name),
        target.agentsSignedIn(),
      ])
      for (const agent of signedIn) credentialed.add(agent)
      if (verdict && !offer.verdict()) offer.take(verdict)
      if (known?.fingerprint === fingerprint) era ??= known.era ?? undefined
      knownSince = known?.firstSeenAt ?? knownSince
    },
    start() {
      if (!config.enabled) return
      if (config.start === 'eager' || !offer.verdict()) connections.main.start()
    },
    status() {
      const standing = { isOn: config.enabled, recoveringFrom: clock.now() - deps.recoveringMs }
      const latency = latencies.summary()
      return {
        name,
        transport: target.transport,
        target: target.text,
        ...standingOf(connections.main, standing),
        ...countsOf(offer.verdict(), { connections, config }),
        ...(latency ? { latency } : {}),
      }
    },
    logs: limit => log.lines({ limit }),
    async restart() {
      // Somebody may have signed in since.
      for (const agent of await target.agentsSignedIn()) credentialed.add(agent)
      await connections.restart()
    },
    review: decide =>
      inTurn(async () => {
        const decided = await decide()
        take(await pins.recall(name, config))
        return decided
      }),
    async stop() {
      relisting.stop()
      await connections.stop()
      await turns
    },
  }
}

function isUnauthorized(error: unknown): boolean {
  if (error instanceof ChannelFailure) return error.end.kind === 'unauthorized'
  return error instanceof SendFailure && error.status === 401
}

interface Looking {
  look: Connection['look']
  readonly listeners: Set<() => void>
}

/** The connection as something that tools need. It tells by itself when it changed, so it is rarely looked at. */
function dependencyOf(name: string, { look, listeners }: Looking): DependencyDefinition {
  return defineDependency({
    name: `upstream-${name}`,
    title: `The MCP server ${name}`,
    probe: { describe: { kind: 'upstream', name }, run: ({ signal }) => look(signal) },
    mend: `See what it says: quartermaster logs ${name}`,
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  })
}

/** What is said about how it is shown. Connections go on through a change of these. */
const SHOWN: ReadonlySet<string> = new Set([
  ...['title', 'short', 'prefix', 'offer', 'leaveOut', 'tools', 'prompts', 'resources'],
  ...['newTools', 'findings', 'timeoutMs'],
])

/** Everything that the connections are made by. */
function wayOf(config: UpstreamConfig): string {
  return canonicalJson(Object.fromEntries(Object.entries(config).filter(([key]) => !SHOWN.has(key))))
}
