import type { PinKind, UpstreamConfig, UpstreamLogLine, UpstreamStatus } from '../../contracts/index.ts'
import type { SourceUnit } from '../../core/catalogue/index.ts'
import { type CancelSignal, canonicalJson } from '../../core/kernel/index.ts'
import { downloadReason, mayNeedDownload } from './first-download.ts'
import type { Serving } from './offer/service.ts'
import { withTimeLimit } from './pausing.ts'
import { offReason, SWITCHED_OFF } from './switched-off.ts'
import { unseenStep } from './unseen-step.ts'
import { countsOf, failingAgents, standingOf } from './upstream-status.ts'
import { createWorkings, type UpstreamDeps, type Workings } from './workings.ts'

/** One MCP server of someone else, mounted. */
export interface Upstream {
  readonly name: string
  /** Whether it is reached over a network, so that to start it takes no processor here. */
  readonly isRemote: boolean
  /** What it brings now. */
  unit(): SourceUnit
  /** Takes another configuration, if what runs can stay as it is. */
  reconfigure(config: UpstreamConfig): boolean
  /** Whether nobody has ever seen what it has. */
  isUnseen(): boolean
  /** Who serves whatever is asked of it now: itself, or the one that is in its place. */
  serving(): Serving
  /** Another one is in its place. */
  handOver(to: Pick<Upstream, 'serving'>): void
  /** Since when it is known. */
  knownSince(): number
  /** What agents call something of it, or would if it were offered. */
  nameOf(kind: PinKind, own: string): string | undefined
  /** Whether the first attempt to reach it has not ended yet. */
  isStarting(): boolean
  /** Whether it has never been met, and the program that starts it may have to download it first. */
  mayNeedDownload(): boolean
  /** The same, while it is being started. */
  mayBeDownloading(): boolean
  /** Whether a tool of this name could be its, as far as its configuration tells. */
  mayOffer(tool: string): boolean
  /** Takes what is remembered of it. */
  remember(): Promise<void>
  /** It is started soon, unless it waits until it is wanted. */
  announce(): void
  /** One that is lazy and was seen before only where it is wanted. */
  start(options?: { isWanted?: boolean }): void
  /** For whoever needs it: resolves when it is there, cannot be reached without somebody doing something, or the time is over. */
  comeUp(options: { withinMs: number; signal: CancelSignal }): Promise<void>
  status(): UpstreamStatus
  logs(limit: number): UpstreamLogLine[]
  restart(): Promise<void>
  /** Somebody has signed in or out there, or one agent has. */
  signedAnew(agent: string | undefined): Promise<void>
  /** There is no such agent any more, or it does not have this any more. */
  dismiss(agent: string): void
  /** There are tools of others that were not there before: what it says of them is looked at again. */
  lookAgain(): Promise<void>
  /** A person decides about something of it. */
  review<T>(decide: () => Promise<T>): Promise<T>
  /** It is to go: calls may end, but nothing of it is looked at or remembered any more. Resolves when nothing is being. */
  retire(): Promise<void>
  /** Ends when what is under way has; nothing new is begun. Whoever still waits for it is told why. */
  leave(reason: string): Promise<void>
  /** The same, at once. */
  stop(reason: string): Promise<void>
}

export function createUpstream(deps: UpstreamDeps): Upstream {
  let config = deps.config
  const parts = createWorkings(deps, () => config)
  const { connections, meetings, subscriptions, acquaintance, sightings, verdicts, offer, own, service } = parts

  async function endedBy(end: Promise<void>): Promise<void> {
    sightings.stop()
    await end
    await verdicts.settled()
    // Last: whoever has it next starts at once.
    await deps.lease?.release()
  }
  const isToRun = () => config.start === 'eager' || !offer.verdict()
  // One that is switched off is never started, whoever asks for it.
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
      verdicts.renamed()
      if (isPolicy) seeAgain(parts, config)
      return true
    },
    isUnseen: () => offer.verdict() === undefined,
    serving: service.serving,
    handOver: to => service.handOver(to.serving),
    knownSince: acquaintance.since,
    nameOf: offer.nameOf,
    isStarting: () => connections.main.state().kind === 'starting' && connections.main.lastError() === undefined,
    mayNeedDownload: () => mayNeedDownload(parts, config),
    mayBeDownloading: () => mayBeDownloading(parts, config),
    mayOffer: tool => mayOffer(tool, deps.name, config),
    remember: async () => void (await Promise.all([verdicts.recall(), acquaintance.recall(), meetings.recall()])),
    announce() {
      if (config.enabled && isToRun()) connections.main.announce()
    },
    // What was announced is started, also where somebody has seen it meanwhile.
    start({ isWanted = isToRun() || connections.main.state().isAnnounced === true } = {}) {
      if (config.enabled && isWanted) connections.main.start()
    },
    async comeUp({ withinMs, signal }) {
      const limit = { clock: deps.clock, signal, reason: 'It took too long.' }
      const take = (either: AbortSignal) => connections.main.take({ budgetMs: withinMs, signal: either })
      // Whoever waited looks at how it stands.
      await withTimeLimit(withinMs, limit, take).catch(() => {})
    },
    status: () => statusOf(deps, parts, config),
    logs: limit => deps.log.lines({ limit }),
    async restart() {
      await meetings.recall()
      if (config.enabled) deps.log.add('gateway', 'A person has it started anew.')
      await connections.restart()
      subscriptions.settle()
    },
    async signedAnew(agent) {
      try {
        await meetings.recall()
      } finally {
        // Also where nobody knows who is signed in now: what was opened with a login that is gone does not stay for that.
        connections.exchange(agent)
        subscriptions.settle()
      }
    },
    dismiss(agent) {
      connections.dismiss(agent)
      own.forget(agent)
    },
    lookAgain: verdicts.lookAgain,
    review: verdicts.review,
    async retire() {
      sightings.stop()
      await Promise.all([verdicts.settled(), acquaintance.settled()])
    },
    leave: reason => endedBy(connections.leave(reason)),
    stop: reason => endedBy(connections.stop(reason)),
  }
}

/** Another policy may offer what was held back, also of a server that sleeps, or is judged by the one before while it starts. */
function seeAgain({ connections: { main }, sightings }: Workings, { enabled }: UpstreamConfig): void {
  sightings.again()
  if (enabled) main.start()
}

function mayBeDownloading(parts: Workings, config: UpstreamConfig): boolean {
  return parts.connections.main.state().kind === 'starting' && mayNeedDownload(parts, config)
}

function mayOffer(tool: string, name: string, { prefix = name, tools }: UpstreamConfig): boolean {
  return prefix === false || tool.startsWith(`${prefix}_`) || Object.values(tools).some(given => given.name === tool)
}

function statusOf(deps: UpstreamDeps, parts: Workings, config: UpstreamConfig): UpstreamStatus {
  const { name, target, clock, recoveringMs } = deps
  const { connections, offer, own, latencies, crowds } = parts
  const standing = { name, off: offReason(config), recoveringFrom: clock.now() - recoveringMs }
  const latency = latencies.summary()
  const unasked = crowds.summary()
  const differing = own.differing()
  const failing = failingAgents(connections)
  const downloading = downloadReason(parts, config)
  const status: UpstreamStatus = {
    name,
    transport: target.transport,
    target: target.text,
    ...standingOf(connections, standing),
    ...countsOf(offer.verdict(), { connections, config }),
    ...(differing.length > 0 ? { differing } : {}),
    ...(failing.length > 0 ? { failing } : {}),
    ...(downloading === undefined ? {} : { isFetching: true, reason: downloading }),
    ...(deps.log.hasSpoken() ? { hasSpoken: true } : {}),
    ...(latency ? { latency } : {}),
    ...(unasked ? { unasked } : {}),
  }
  return config.enabled && !offer.verdict() ? { ...status, unseen: unseenStep(status) } : status
}

/** What is said about how it is shown. Connections go on through a change of these. */
const SHOWN: ReadonlySet<string> = new Set([
  ...['title', 'short', 'prefix', 'offer', 'leaveOut', 'tools', 'consent', 'prompts', 'resources'],
  ...['newTools', 'findings', 'timeoutMs', 'maxResultBytes', 'maxBinaryBytes'],
])

/** Everything that the connections are made by. */
function wayOf(config: UpstreamConfig): string {
  return canonicalJson(Object.fromEntries(Object.entries(config).filter(([key]) => !SHOWN.has(key))))
}
