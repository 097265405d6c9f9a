import { messageOf, type UpstreamConfig, type UpstreamLogLine, type UpstreamStatus } from '../../contracts/index.ts'
import { type DependencyDefinition, defineDependency, type SourceUnit } from '../../core/catalogue/index.ts'
import { type Clock, canonicalJson, type Digest, type Random } from '../../core/kernel/index.ts'
import type { PinBook, UpstreamMemory, Verdict } from '../../core/upstreams/index.ts'
import type { ChildLog } from './child-log.ts'
import { createLatencies } from './latencies.ts'
import { createOffer } from './offer.ts'
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
  /** Names of tools that are not its own. */
  otherTools(): Iterable<string>
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
  /** Whether the first attempt to reach it has not ended yet. */
  isStarting(): boolean
  /** Takes what is remembered of it. */
  remember(): Promise<void>
  start(): void
  status(): UpstreamStatus
  logs(limit: number): UpstreamLogLine[]
  restart(): Promise<void>
  /** A person has decided about something of it. */
  reviewed(): Promise<void>
  stop(): Promise<void>
}

/** An agent that has not called for this long gets a new connection of its own with its next call. */
const OWN_IDLE_MS = 5 * 60_000
/** Changes that a server tells of in quick succession are looked at together. */
const LIST_PAUSE_MS = 1_000

export function createUpstream(deps: UpstreamDeps): Upstream {
  const { name, target, log, pins, memory, clock, digest } = deps
  let config = deps.config
  const latencies = createLatencies()
  const listeners = new Set<() => void>()
  // With another command or address it may be another server.
  const fingerprint = digest(target.text)
  let era: Era | undefined
  let lists: Promise<void> = Promise.resolve()
  let listedAt = Number.NEGATIVE_INFINITY
  let isListDue = false

  const dependency = dependencyOf(name, { look: signal => connections.main.look(signal), listeners })
  const connections: Connections = createConnections({
    upstream: name,
    isSeparate: config.connection === 'perAgent',
    withCredentials: new Set(Object.keys(config.agents)),
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
  })
  const offer = createOffer({ name, digest, dependency, calls, config: () => config, watch: watches.add })

  function connect(agent: string | undefined): Connection {
    const idleMs = config.idleSeconds === undefined ? undefined : config.idleSeconds * 1000
    return createConnection({
      ...deps,
      dependency: dependency.name,
      startMs: config.startSeconds * 1000,
      idleMs: agent === undefined ? idleMs : (idleMs ?? OWN_IDLE_MS),
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
    const session = await meet(agent, signal)
    if (agent !== undefined) return session
    try {
      await takeListing(session, signal)
      watches.apply(session)
      return session
    } catch (error) {
      await session.close()
      throw error
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
      onListChanged: () => isMain && listSoon(),
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
    listedAt = clock.now()
    const listing = await fetchListing(session, signal)
    take(await pins.see({ upstream: name, listing, policy: config, others: deps.otherTools() }))
    const { era: spoken, server } = session.facts
    memory.remember(name, { era: spoken, server: { ...server }, fingerprint }).catch(error => {
      // It only saves a question next time.
      log.add('gateway', `What it is could not be remembered: ${messageOf(error)}`)
    })
  }

  function take(verdict: Verdict | undefined): void {
    if (verdict && offer.take(verdict)) deps.onChange()
  }

  /** At once, and then no more often than every second, however often it tells of changes. */
  function listSoon(): void {
    if (isListDue) return
    isListDue = true
    clock.after(Math.max(0, listedAt + LIST_PAUSE_MS - clock.now()), () => {
      isListDue = false
      lists = lists.then(listAgain)
    })
  }

  async function listAgain(): Promise<void> {
    const session = connections.main.session()
    if (!session) return
    const controller = new AbortController()
    const cancel = clock.after(config.startSeconds * 1000, () => controller.abort(new Error('It took too long.')))
    try {
      await takeListing(session, controller.signal)
    } catch (error) {
      log.add('gateway', `What it has could not be listed again: ${messageOf(error)}`)
    } finally {
      cancel()
    }
  }

  return {
    name,
    unit: offer.unit,
    reconfigure(next) {
      if (wayOf(next) !== wayOf(config)) return false
      const isPolicy = next.newTools !== config.newTools || next.findings !== config.findings
      config = next
      offer.configured()
      if (isPolicy) listSoon()
      return true
    },
    isUnseen: () => offer.verdict() === undefined,
    isStarting: () => connections.main.state().kind === 'starting' && connections.main.lastError() === undefined,
    async remember() {
      const [verdict, known] = await Promise.all([pins.recall(name, config), memory.recall(name)])
      if (verdict && !offer.verdict()) offer.take(verdict)
      if (known?.fingerprint === fingerprint) era ??= known.era ?? undefined
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
        ...countsOf(offer.verdict(), connections),
        ...(latency ? { latency } : {}),
      }
    },
    logs: limit => log.lines({ limit }),
    restart: () => connections.restart(),
    reviewed: async () => take(await pins.recall(name, config)),
    stop: () => connections.stop(),
  }
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
