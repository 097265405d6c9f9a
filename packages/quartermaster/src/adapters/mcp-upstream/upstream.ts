import type { PinKind, UpstreamConfig, UpstreamLogLine, UpstreamState, UpstreamStatus } from '../../contracts/index.ts'
import type { SourceUnit } from '../../core/catalogue/index.ts'
import { type CancelSignal, canonicalJson, hasLoginStep } from '../../core/kernel/index.ts'
import { countAsking, isWaiting, type ReviewedListing, wantsDefinition } from '../../core/upstreams/index.ts'
import type { ConnectionState } from './connection/connection-state-machine.ts'
import type { Connections } from './connection/connections.ts'
import type { Serving } from './offer/upstream-calls.ts'
import { withTimeLimit } from './peer/abort.ts'
import { forPeople } from './peer/channel.ts'
import { offReason, SWITCHED_OFF, unseenStep } from './upstream-entry.ts'
import {
  downloadReason,
  mayNeedDownload,
  type UpstreamDeps,
  type WiredUpstream,
  wireUpstream,
} from './wire-upstream.ts'

/** One mounted MCP server. */
export interface Upstream {
  readonly name: string
  /** Whether it is reached over a network, so that starting it takes no processor here. */
  readonly isRemote: boolean
  unit(): SourceUnit
  /** Takes another configuration, if its connections can stay. */
  reconfigure(config: UpstreamConfig): boolean
  /** Whether it was never listed. */
  isUnseen(): boolean
  /** Who serves requests now: itself, or the upstream in its place. */
  serving(): Serving
  /** Another upstream replaces it. */
  handOver(to: Pick<Upstream, 'serving'>): void
  knownSince(): number
  /** What agents call a definition, or would if it were offered. */
  nameOf(kind: PinKind, own: string): string | undefined
  /** Whether the first attempt to connect has not ended yet. */
  isStarting(): boolean
  /** Whether it was never connected, and its launcher may have to download it first. */
  mayNeedDownload(): boolean
  /** The same, while it is being started. */
  mayBeDownloading(): boolean
  remember(): Promise<void>
  /** It will be started soon, unless it is lazy. */
  announce(): void
  /** Starts it; a lazy known server only if it is wanted. */
  start(options?: { isWanted?: boolean }): void
  /** Resolves when it is up, cannot be reached without a person, or the time is over. */
  comeUp(options: { withinMs: number; signal: CancelSignal }): Promise<void>
  status(): UpstreamStatus
  logs(limit: number): UpstreamLogLine[]
  restart(): Promise<void>
  /** A person or an agent signed in or out. */
  loginChanged(agent: string | undefined): Promise<void>
  /** The agent was removed, or lost this upstream. */
  dismiss(agent: string): void
  /** Other units have new tools: descriptions that mention them are scanned again. */
  lookAgain(): Promise<void>
  /** A person decides about a definition. */
  review<T>(decide: () => Promise<T>): Promise<T>
  /**
   * It will be removed: calls may finish, but nothing is listed or stored any more. Resolves when all writes are done.
   */
  retire(): Promise<void>
  /** Ends once open requests have; nothing new is begun. Waiting callers are told why. */
  leave(reason: string): Promise<void>
  stop(reason: string): Promise<void>
}

export function createUpstream(deps: UpstreamDeps): Upstream {
  let config = deps.config
  const parts = wireUpstream(deps, () => config)
  const { connections, connector, subscriptions, serverFacts, lister, reviewQueue, offer, own, service } = parts

  async function endedBy(end: Promise<void>): Promise<void> {
    lister.stop()
    await end
    await reviewQueue.settled()
    // Last: the next holder starts at once.
    await deps.lease?.release()
  }
  const isToRun = () => config.start === 'eager' || !offer.verdict()
  // A disabled upstream is never started.
  if (!config.enabled) void connections.stop(offReason(config) ?? SWITCHED_OFF)

  return {
    name: deps.name,
    isRemote: deps.target.transport !== 'stdio',
    unit: offer.unit,
    reconfigure(next) {
      if (wayOf(next) !== wayOf(config)) return false
      const isPolicy = next.newTools !== config.newTools || next.findings !== config.findings
      config = next
      offer.configured()
      reviewQueue.renamed()
      if (isPolicy) seeAgain(parts, config)
      return true
    },
    isUnseen: () => offer.verdict() === undefined,
    serving: service.serving,
    handOver: to => service.handOver(to.serving),
    knownSince: serverFacts.since,
    nameOf: offer.nameOf,
    isStarting: () => connections.main.state().kind === 'starting' && connections.main.lastError() === undefined,
    mayNeedDownload: () => mayNeedDownload(parts, config),
    mayBeDownloading: () => mayBeDownloading(parts, config),
    remember: async () => void (await Promise.all([reviewQueue.recall(), serverFacts.recall(), connector.recall()])),
    announce() {
      if (config.enabled && isToRun()) connections.main.announce()
    },
    // An announced server is started, also if it became known meanwhile.
    start({ isWanted = isToRun() || connections.main.state().isAnnounced === true } = {}) {
      if (config.enabled && isWanted) connections.main.start()
    },
    async comeUp({ withinMs, signal }) {
      const limit = { clock: deps.clock, signal, reason: 'It took too long.' }
      const take = (either: AbortSignal) => connections.main.take({ budgetMs: withinMs, signal: either })
      // The caller checks the state.
      await withTimeLimit(withinMs, limit, take).catch(() => {})
    },
    status: () => statusOf(deps, parts, config),
    logs: limit => deps.log.lines({ limit }),
    async restart() {
      await connector.recall()
      if (config.enabled) deps.log.add('gateway', 'A person restarted it.')
      await connections.restart()
      subscriptions.settle()
    },
    async loginChanged(agent) {
      try {
        await connector.recall()
      } finally {
        // Also where the present logins are unknown: a connection with a removed login is not kept for that.
        connections.exchange(agent)
        subscriptions.settle()
      }
    },
    dismiss(agent) {
      connections.dismiss(agent)
      own.forget(agent)
    },
    lookAgain: reviewQueue.lookAgain,
    review: reviewQueue.review,
    async retire() {
      lister.stop()
      await Promise.all([reviewQueue.settled(), serverFacts.settled()])
    },
    leave: reason => endedBy(connections.leave(reason)),
    stop: reason => endedBy(connections.stop(reason)),
  }
}

/**
 * Another policy may offer what was held back, also of a sleeping server. A listing in progress may still use the old
 * policy.
 */
function seeAgain({ connections: { main }, lister }: WiredUpstream, { enabled }: UpstreamConfig): void {
  lister.again()
  if (enabled) main.start()
}

function mayBeDownloading(parts: WiredUpstream, config: UpstreamConfig): boolean {
  return parts.connections.main.state().kind === 'starting' && mayNeedDownload(parts, config)
}

function statusOf(deps: UpstreamDeps, parts: WiredUpstream, config: UpstreamConfig): UpstreamStatus {
  const { name, target, clock, recoveringMs } = deps
  const { connections, offer, own, latencies, declinedCounter } = parts
  const factsOptions = { name, off: offReason(config), recoveringFrom: clock.now() - recoveringMs }
  const latency = latencies.summary()
  const unasked = declinedCounter.summary()
  const differing = own.differing()
  const failing = failingAgents(connections)
  const downloading = downloadReason(parts, config)
  const status: UpstreamStatus = {
    name,
    transport: target.transport,
    target: target.text,
    ...connectionFactsOf(connections, factsOptions),
    ...amountsOf(offer.verdict(), { connections, config }),
    ...(differing.length > 0 ? { differing } : {}),
    ...(failing.length > 0 ? { failing } : {}),
    ...(downloading === undefined ? {} : { isFetching: true, reason: downloading }),
    ...(deps.log.hasSpoken() ? { hasSpoken: true } : {}),
    ...(latency ? { latency } : {}),
    ...(unasked ? { unasked } : {}),
  }
  return config.enabled && !offer.verdict() ? { ...status, unseen: unseenStep(status) } : status
}

/** Settings that connections do not depend on. */
const SHOWN: ReadonlySet<string> = new Set([
  ...['title', 'short', 'prefix', 'offer', 'leaveOut', 'tools', 'consent', 'prompts', 'resources'],
  ...['newTools', 'findings', 'timeoutMs', 'maxResultBytes', 'maxBinaryBytes'],
])

/** All settings that connections depend on. */
function wayOf(config: UpstreamConfig): string {
  return canonicalJson(Object.fromEntries(Object.entries(config).filter(([key]) => !SHOWN.has(key))))
}

const STATES = {
  idle: 'idle',
  starting: 'starting',
  up: 'up',
  waiting: 'down',
  needsLogin: 'needsLogin',
  elsewhere: 'elsewhere',
  stopped: 'off',
} as const satisfies Record<ConnectionState['kind'], UpstreamState>

interface ConnectionFactsOptions {
  readonly name: string
  /** Why the configuration does not let it run, if it does not. */
  readonly off: string | undefined
  /** A server that fell before this counts as down. */
  readonly recoveringFrom: number
}

type ConnectionFacts = Pick<
  UpstreamStatus,
  'state' | 'reason' | 'since' | 'era' | 'server' | 'nextStartAt' | 'lastError'
>

/** The state of the main connection, and the last error on any. */
export function connectionFactsOf(
  connections: Pick<Connections, 'main' | 'lastError'>,
  { name, off, recoveringFrom }: ConnectionFactsOptions,
): ConnectionFacts {
  const { main } = connections
  const { kind, since, nextStartAt, downSince, isBusy, ...trouble } = main.state()
  const isExcused = isBusy && kind !== 'idle' && downSince === undefined
  const fallen = isExcused ? 'recovering' : fallenState(downSince, recoveringFrom)
  const facts = main.session()?.facts
  const lastError = connections.lastError()
  return {
    state: off === undefined ? (fallen ?? stateOf(kind, trouble.reason, name)) : 'off',
    reason: off ?? forPeople(trouble),
    since: Math.round(downSince ?? since),
    ...(facts ? { era: facts.era, server: { name: facts.server.name, version: facts.server.version } } : {}),
    ...(nextStartAt === undefined ? {} : { nextStartAt }),
    ...(lastError ? { lastError } : {}),
  }
}

/** A login is not requested where it would not help. */
function stateOf(kind: ConnectionState['kind'], reason: string, name: string): UpstreamState {
  return kind === 'needsLogin' && !hasLoginStep(reason, name) ? 'keyRefused' : STATES[kind]
}

function fallenState(downSince: number | undefined, recoveringFrom: number): UpstreamState | undefined {
  if (downSince === undefined) return undefined
  return downSince > recoveringFrom ? 'recovering' : 'down'
}

/** The agents whose own connection does not come up, and why. */
function failingAgents({ byAgent }: Pick<Connections, 'byAgent'>): NonNullable<UpstreamStatus['failing']> {
  return [...byAgent()].flatMap(([agent, connection]) => {
    const { kind, downSince, ...trouble } = connection.state()
    return downSince === undefined && kind !== 'needsLogin' ? [] : [{ agent, reason: forPeople(trouble) }]
  })
}

/** Amounts for the status; what the owner leaves out is not counted. */
export function amountsOf(
  verdict: ReviewedListing | undefined,
  { connections, config }: { connections: Connections; config: UpstreamConfig },
): Pick<
  UpstreamStatus,
  | 'tools'
  | 'asks'
  | 'othersHeld'
  | 'warned'
  | 'unlisted'
  | 'isCut'
  | 'prompts'
  | 'resources'
  | 'connections'
  | 'pids'
  | 'restarts'
> {
  const { offered = [], held = [], unlisted, isCut } = verdict ?? {}
  const count = (list: readonly { kind: string }[], ...kinds: string[]) =>
    list.filter(({ kind }) => kinds.includes(kind)).length
  const isWanted = (one: ReviewedListing['held' | 'offered'][number]) => wantsDefinition(config, one)
  const all = connections.all()
  const left = held.filter(isWanted)
  const waiting = left.filter(isWaiting)
  const warned = offered.filter(one => one.isWarned && isWanted(one)).length
  const rejected = count(left, 'tool') - count(waiting, 'tool')
  const othersHeld = waiting.length - count(waiting, 'tool')
  const tools = offered.filter(one => one.kind === 'tool' && isWanted(one))
  return {
    tools: {
      offered: tools.length,
      held: count(waiting, 'tool'),
      ...(rejected > 0 ? { rejected } : {}),
    },
    ...(tools.length > 0
      ? {
          asks: countAsking(
            tools.map(({ value }) => value),
            config,
          ),
        }
      : {}),
    ...(othersHeld > 0 ? { othersHeld } : {}),
    ...(warned > 0 ? { warned } : {}),
    ...(unlisted ? { unlisted: [...unlisted] } : {}),
    ...(isCut ? { isCut } : {}),
    prompts: config.prompts ? count(offered, 'prompt') : 0,
    resources: config.resources ? count(offered, 'resource', 'template') : 0,
    connections: all.filter(one => one.session()).length,
    pids: connections.withLeft().flatMap(one => one.session()?.pids() ?? []),
    restarts: all.reduce((sum, one) => sum + one.restarts(), 0),
  }
}
