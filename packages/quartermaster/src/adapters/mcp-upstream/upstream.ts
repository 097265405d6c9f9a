import type {
  PinKind,
  Settings,
  UpstreamConfig,
  UpstreamLogLine,
  UpstreamState,
  UpstreamStatus,
} from '../../contracts/index.ts'
import type { SourceUnit } from '../../core/catalogue/index.ts'
import {
  type CancelSignal,
  type Clock,
  canonicalJson,
  type Digest,
  hasLoginStep,
  type Random,
  upstreamUnit,
} from '../../core/kernel/index.ts'
import { separateSecrets } from '../../core/secrets/index.ts'
import type { Leases } from '../../core/store/index.ts'
import {
  countAsking,
  isWaiting,
  type PinBook,
  type ReviewedListing,
  type ToolsOfOthers,
  type UpstreamMemory,
  wantsDefinition,
} from '../../core/upstreams/index.ts'
import type { ProcessManager } from '../programs/index.ts'
import type { ConnectionState } from './connection/connection-state-machine.ts'
import type { Connections, RevokedAgents } from './connection/connections.ts'
import { targetOf } from './connection/target.ts'
import type { UpstreamAuth } from './oauth/upstream-auth.ts'
import type { Serving } from './offer/upstream-calls.ts'
import { withTimeLimit } from './peer/abort.ts'
import { forPeople } from './peer/channel.ts'
import { createChildLog, SHORTEST_SECRET } from './transport/child-log.ts'
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
  /** Whether it is reached over a network, so that a start takes no processor time here. */
  readonly isRemote: boolean
  unit(): SourceUnit
  reconfigure(config: UpstreamConfig): boolean
  isUnseen(): boolean
  /** The upstream that serves requests now: this one, or its replacement. */
  serving(): Serving
  handOver(to: Pick<Upstream, 'serving'>): void
  knownSince(): number
  /** The name by which agents call a definition, or would if it were offered. */
  nameOf(kind: PinKind, own: string): string | undefined
  isStarting(): boolean
  /** Whether it was never connected, and its launcher may have to download it first. */
  mayNeedDownload(): boolean
  mayBeDownloading(): boolean
  remember(): Promise<void>
  announce(): void
  /** Starts it; a lazy known server only if it is wanted. */
  start(options?: { isWanted?: boolean }): void
  /** Resolves when it is up, cannot be reached without a person, or the time is over. */
  comeUp(options: { withinMs: number; signal: CancelSignal }): Promise<void>
  status(): UpstreamStatus
  logs(limit: number): UpstreamLogLine[]
  restart(): Promise<void>
  loginChanged(agent: string | undefined): Promise<void>
  dismiss(agent: string): void
  /** Other units have new tools: descriptions that mention them are scanned again. */
  lookAgain(): Promise<void>
  review<T>(decide: () => Promise<T>): Promise<T>
  /**
   * It will be removed: calls may finish, but nothing is listed or stored any more. Resolves when all writes are
   * done.
   */
  retire(): Promise<void>
  /** Ends once open requests have, and begins nothing new. Waiting callers are told why. */
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
    await deps.lease?.release()
  }
  const isToRun = () => config.start === 'eager' || !offer.verdict()
  if (!config.enabled) void connections.stop(offReason(config) ?? SWITCHED_OFF)

  return {
    name: deps.name,
    isRemote: deps.target.transport !== 'stdio',
    unit: offer.unit,
    reconfigure(next) {
      if (connectionSettings(next) !== connectionSettings(config)) return false
      const isPolicy = next.newTools !== config.newTools || next.findings !== config.findings
      config = next
      offer.configured()
      reviewQueue.renamed()
      if (isPolicy) relistForPolicy(parts, config)
      return true
    },
    isUnseen: () => offer.verdict() === undefined,
    serving: service.serving,
    handOver: to => service.handOver(to.serving),
    knownSince: serverFacts.knownSince,
    nameOf: offer.nameOf,
    isStarting: () => connections.main.state().kind === 'starting' && connections.main.lastError() === undefined,
    mayNeedDownload: () => mayNeedDownload(parts, config),
    mayBeDownloading: () => mayBeDownloading(parts, config),
    remember: async () =>
      void (await Promise.all([reviewQueue.recall(), serverFacts.load(), connector.refreshLogins()])),
    announce() {
      if (config.enabled && isToRun()) connections.main.schedule()
    },
    start({ isWanted = isToRun() || connections.main.state().isScheduled === true } = {}) {
      if (config.enabled && isWanted) connections.main.start()
    },
    async comeUp({ withinMs, signal }) {
      const limit = { clock: deps.clock, signal, reason: 'It took too long.' }
      const take = (either: AbortSignal) => connections.main.take({ budgetMs: withinMs, signal: either })
      await withTimeLimit(withinMs, limit, take).catch(() => {})
    },
    status: () => statusOf(deps, parts, config),
    logs: limit => deps.log.lines({ limit }),
    async restart() {
      await connector.refreshLogins()
      if (config.enabled) deps.log.add('gateway', 'A person restarted it.')
      await connections.restart()
      subscriptions.reassign()
    },
    async loginChanged(agent) {
      try {
        await connector.refreshLogins()
      } finally {
        // Also where the logins could not be read: a connection with a removed login must not stay.
        connections.onLoginChanged(agent)
        subscriptions.reassign()
      }
    },
    dismiss(agent) {
      connections.revokeAgent(agent)
      own.forget(agent)
    },
    lookAgain: reviewQueue.lookAgain,
    review: reviewQueue.review,
    async retire() {
      lister.stop()
      await Promise.all([reviewQueue.settled(), serverFacts.saved()])
    },
    leave: reason => endedBy(connections.drain(reason)),
    stop: reason => endedBy(connections.stop(reason)),
  }
}

/**
 * Another policy may offer held-back definitions, also of a sleeping server. A listing in progress may still use the
 * old policy.
 */
function relistForPolicy({ connections: { main }, lister }: WiredUpstream, { enabled }: UpstreamConfig): void {
  lister.relistSoon()
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

const DISPLAY_SETTINGS: ReadonlySet<string> = new Set([
  ...['title', 'short', 'prefix', 'offer', 'leaveOut', 'tools', 'consent', 'prompts', 'resources'],
  ...['newTools', 'findings', 'timeoutMs', 'maxResultBytes', 'maxBinaryBytes'],
])

function connectionSettings(config: UpstreamConfig): string {
  return canonicalJson(Object.fromEntries(Object.entries(config).filter(([key]) => !DISPLAY_SETTINGS.has(key))))
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
  readonly off: string | undefined
  readonly recoveringFrom: number
}

type ConnectionFacts = Pick<
  UpstreamStatus,
  'state' | 'reason' | 'since' | 'era' | 'server' | 'nextStartAt' | 'lastError'
>

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

function failingAgents({ byAgent }: Pick<Connections, 'byAgent'>): NonNullable<UpstreamStatus['failing']> {
  return [...byAgent()].flatMap(([agent, connection]) => {
    const { kind, downSince, ...trouble } = connection.state()
    return downSince === undefined && kind !== 'needsLogin' ? [] : [{ agent, reason: forPeople(trouble) }]
  })
}

/** Amounts for the status, without definitions that the owner leaves out. */
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
    pids: connections.allWithDraining().flatMap(one => one.session()?.pids() ?? []),
    restarts: all.reduce((sum, one) => sum + one.restarts(), 0),
  }
}

export interface MountedDeps {
  readonly projectDir: string
  readonly dataDir: string
  readonly pins: Pick<PinBook, 'recall' | 'see' | 'recheck' | 'claim'>
  readonly memory: UpstreamMemory
  readonly processes: ProcessManager
  readonly auth: UpstreamAuth
  readonly clock: Clock
  readonly random: Random
  readonly digest: Digest
  readonly settings: Pick<Settings, 'callTimeoutSeconds' | 'restartWaitSeconds' | 'recoveringSeconds'>
  readonly version: string
  readonly leases: Leases
  hasAgent(name: string): Promise<boolean>
  secrets(): readonly string[]
  /** Names of tools of other units, once the present definitions have been read. */
  readonly toolsOfOthers: ToolsOfOthers
}

export interface MountOptions {
  readonly name: string
  readonly config: UpstreamConfig
  readonly mountedAt: number
  readonly revokedAgents: Pick<RevokedAgents, 'since'>
  onChange(): void
  onState(): void
}

export function createMounted(deps: MountedDeps, options: MountOptions): Upstream {
  const { name, config } = options
  const { clock, settings, version, toolsOfOthers } = deps
  // Besides stored secrets, values in the entry that look like one.
  const inline = Object.values(separateSecrets(name, config).secrets).filter(text => text.length >= SHORTEST_SECRET)
  const log = createChildLog({ clock, secrets: [...deps.secrets(), ...inline] })
  return createUpstream({
    ...deps,
    ...options,
    log,
    target: targetOf({ ...deps, name, config, log }),
    lease: config.single && config.enabled ? deps.leases.of(`upstream ${name}`) : undefined,
    client: { name: 'quartermaster', version },
    callMs: settings.callTimeoutSeconds * 1000,
    restartWaitMs: settings.restartWaitSeconds * 1000,
    recoveringMs: settings.recoveringSeconds * 1000,
    otherTools: () => toolsOfOthers(upstreamUnit(name)),
  })
}

export { createUpstreamAuth } from './oauth/upstream-auth.ts'
export { foreseenFailure } from './transport/stdio-channel.ts'
