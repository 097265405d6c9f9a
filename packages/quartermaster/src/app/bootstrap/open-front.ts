import { setTimeout as wait } from 'node:timers/promises'
import type { DataFolder } from '../../adapters/data-folder/index.ts'
import {
  createFastPath,
  createHttpApp,
  type FastPath,
  type HttpApp,
  type HttpAppOptions,
  listen,
  type Mount,
  type Persons,
} from '../../adapters/http/index.ts'
import { type AuthenticatedAgent, type HttpFront, PROTOCOL_VERSIONS } from '../../adapters/mcp-server/index.ts'
import { createSystemClock } from '../../adapters/system/index.ts'
import { AppError, type Control, messageOf, type NodeFacts, type NodeRow } from '../../contracts/index.ts'
import type { Clock, Log, Tracer } from '../../core/kernel/index.ts'
import type { Tokens } from '../../core/organisation/index.ts'
import type { StoreNews } from '../../core/store/index.ts'
import { createControl } from '../control/control.ts'
import { createEventFeed, type EventFeed, followTable } from '../control/events.ts'
import { createLoginRecall } from '../control/logins.ts'
import { createPersonControl } from '../control/operations.ts'
import { createUpControl } from '../control/up-only.ts'
import { VERSION } from '../package-info.ts'
import type { OpenedStore } from '../project/open-store.ts'
import type { Project } from '../project/project.ts'
import { type BuiltExternalPeers, buildExternalPeers } from './external-peers.ts'
import { a2aMounts, apiDoor, lentFiles, skillsIn } from './front-handlers.ts'
import { metricsOf } from './metrics.ts'
import type { RemoteAgentList } from './remote-agents.ts'
import type { Runtime } from './runtime.ts'
import { syncWorkspaces, type WorkspaceSync } from './sync-workspaces.ts'

/** How long what is opened lives. */
export interface Lifecycle {
  onClose(close: () => Promise<void>): void
  /** Stops it all, as the signal does. */
  leave(): void
}

/** An answer that is ready is written within this. */
const ANSWER_MS = 10
/** All of them together have this long to get out. */
const ANSWERS_MS = 1_000

interface FrontParts {
  readonly options: { host: string; port: number; log: Log; background?: boolean | undefined }
  readonly lifecycle: Lifecycle
  readonly project: Project
  readonly folder: DataFolder
  readonly runtime: Runtime
  readonly store: OpenedStore
  /** The list that the runtime was made with. */
  readonly remoteAgents: RemoteAgentList
  readonly readiness: Readiness
  readonly tracer: Tracer | undefined
}

/** Everything that can be reached from outside. */
export async function openFront(
  parts: FrontParts,
): Promise<{ url: string; control: Control; workspaceSync: WorkspaceSync }> {
  const { options, lifecycle, folder, runtime, store, readiness, remoteAgents } = parts
  const { log, host, port, background } = options
  const { tokens } = store
  const { agents } = runtime.core
  const up = createUpControl({
    tokens,
    agents,
    filesOf: lentFiles(runtime),
    ready: readiness.reached,
    leave: background ? lifecycle.leave : undefined,
    isOver: readiness.isOver,
  })
  const feed = createEventFeed({ emitter: runtime.core.emitter, clock: createSystemClock() })
  const { answers: storeAnswers } = store
  const workspaceSync = syncWorkspaces(runtime, store.organisation, log)
  lifecycle.onClose(workspaceSync.stop)
  store.delegations.events.on('delegation.changed', event => runtime.core.emitter.emit('delegation.changed', event))
  const outside = buildExternalPeers(parts.project, store, log)
  lifecycle.onClose(() => outside.stop())
  outside.start()
  const kept = {
    organisation: async () => store.organisation,
    memory: async () => store.memory,
    delegations: async () => store.delegations,
    peers: async () => outside.peers,
  }
  const lent = { tokens: async () => tokens, ...kept, storeAnswers, nodes: () => nodeFacts(store) }
  const control = createControl(runtime, { from: 'up', isReady: readiness.is, ...lent, up, feed })
  await remoteAgents.open({ organisation: store.organisation, news: store.shared?.news })
  const mcp = openMcp(parts)
  let requests = () => 0
  const app = await openApp(parts, { control, mcp, feed, outside, requests: () => requests() })
  const listener = await listen({ ...app, host, port, log })
  requests = listener.open
  lifecycle.onClose(() => listener.close())
  // A request that waits for a failing start would hold up the end of the listener.
  lifecycle.onClose(async () => readiness.end())
  // Streams that are meant to stay open would hold up the listener's end for its whole grace time.
  lifecycle.onClose(async () => {
    await answersOut(runtime)
    // Those end with this process, and so do the clients that have them.
    await Promise.all(tokens.lent().map(id => mcp.end(id)))
    await mcp.close()
  })
  const { url } = listener
  store.messages.tellUrl(url)
  await store.shared?.nodes.tellUrl(url)
  if (store.shared) {
    for (const stop of followOthers(store.shared.news, runtime, log)) lifecycle.onClose(async () => stop())
  }
  await folder.writeEndpoint({ url, pid: process.pid, startedAt: runtime.startedAt, version: VERSION })
  lifecycle.onClose(() => folder.removeEndpoint())
  lifecycle.onClose(async () => {
    store.hurry?.()
    runtime.mcp.stop()
    runtime.core.calls.stop()
    runtime.core.readings.stop()
  })
  // First of all: the listener goes on, so that what runs can answer.
  lifecycle.onClose(() => drain(parts, { feed, mcp }))
  return { url, control, workspaceSync }
}

/** What people decide and where they sign in on another node counts here too. */
function followOthers(news: StoreNews, { upstreams, upstreamAuth }: Runtime, log: Log): (() => void)[] {
  const pins = { table: 'pins', warning: 'what was decided about upstreams elsewhere could not be read' } as const
  const logins = { table: 'secrets', warning: 'who has signed in at upstreams elsewhere could not be read' } as const
  return [
    followTable(news, { ...pins, log, look: upstreams.recall }),
    followTable(news, { ...logins, log, look: createLoginRecall({ auth: upstreamAuth, upstreams }) }),
  ]
}

/** Nothing new is begun, what merely waits ends at once, and handlers that run have the time that is set for it. */
async function drain(
  { options: { log }, project: { settings }, runtime, store, readiness }: FrontParts,
  { feed, mcp }: Pick<Opened, 'feed' | 'mcp'>,
): Promise<void> {
  readiness.end()
  mcp.drain()
  const { running, over } = runtime.drain(settings.drainSeconds * 1000)
  if (running > 0)
    log.info(`Stopping. ${calls(running)} may end within ${settings.drainSeconds} s; Ctrl-C again stops at once.`)
  feed.stop()
  store.messages.stop()
  await store.delegations.stop()
  await over
}

const calls = (count: number) => (count === 1 ? '1 call that runs' : `${count} calls that run`)

/** MCP for clients with a token, and only as long as it is valid. */
function openMcp({ options: { log }, lifecycle, runtime, store: { tokens }, remoteAgents }: FrontParts): HttpFront {
  const mcp = runtime.mcp.overHttp({ authenticate: authenticator(tokens, runtime), log })
  lifecycle.onClose(() => mcp.close())
  const failed = (error: unknown) => log.error('ending sessions failed', { error: messageOf(error) })
  tokens.onRevoked(id => {
    mcp.end(id).catch(failed)
  })
  const { agents, emitter } = runtime.core
  const endOthers = () => void mcp.endExcept(caller => agents.findSession(caller) !== undefined).catch(failed)
  emitter.on('agents.reloaded', endOthers)
  remoteAgents.onLeft(endOthers)
  return mcp
}

interface OpenedApp {
  readonly app: HttpApp
  readonly shortWay: FastPath
}

interface Opened {
  readonly control: Control
  readonly mcp: HttpFront
  readonly feed: EventFeed
  readonly outside: BuiltExternalPeers
  /** How many are not answered to their end. */
  requests(): number
}

async function openApp(parts: FrontParts, { control, mcp, feed, outside, requests }: Opened): Promise<OpenedApp> {
  const { options, lifecycle, project, folder, runtime, store, remoteAgents, readiness, tracer } = parts
  const token = await folder.adminToken()
  const metrics = metricsOf(runtime, { mcp, store, peers: outside.peers })
  lifecycle.onClose(async () => metrics.stop())
  const { leave } = lifecycle
  const { tokens } = store
  const { outboundWorker } = outside
  const watched = { project, runtime, tokens, mcp, outboundWorker, requests, leave, isReady: readiness.is }
  const idle = options.background ? idleWatch(watched) : undefined
  lifecycle.onClose(async () => idle?.stop())
  const { settings } = project
  const door = apiDoor({ runtime, store, peers: outside.peers, settings, onVisit: () => idle?.touch() })
  const a2a = a2aMounts({ store, settings, log: options.log, door, skillsOf: place => skillsIn(runtime, place) })
  const app: HttpAppOptions = {
    control,
    isAdmin: folder.verifier(token),
    persons: personsOf(store.tokens, runtime, feed),
    api: door,
    prove: folder.prover(token),
    opened: readiness.opened,
    isReady: readiness.is,
    isStopping: readiness.isOver,
    storeAnswers: store.answers,
    status: () => ({ version: VERSION, generation: runtime.core.catalogue.current().number }),
    allowedHosts: () => [options.host, ...project.allowedHosts()],
    mounts: [mcpMount(mcp, { tokens, remoteAgents, readiness, onVisit: () => idle?.touch() }), ...a2a],
    metrics: { text: metrics.text, access: () => project.settings.metricsAccess },
    discovery: { mcpPath: '/mcp', protocolVersions: PROTOCOL_VERSIONS },
    onRequest: metrics.request,
    tracer,
    log: options.log,
  }
  return { app: createHttpApp(app), shortWay: createFastPath(app) }
}

interface McpMountParts {
  readonly tokens: Tokens
  readonly remoteAgents: RemoteAgentList
  readonly readiness: Readiness
  onVisit(): void
}

/** Every request is a visit: clients without a session or stream are seen by their requests alone. */
function mcpMount(mcp: HttpFront, { tokens, remoteAgents, readiness, onVisit }: McpMountParts): Mount {
  return {
    path: '/mcp',
    async handle(request, gone) {
      onVisit()
      const token = bearerOf(request.headers.get('authorization'))
      // Where nothing is heard of what other processes do, a token that was taken back there must not count here.
      if (token !== undefined) await refreshed(token, tokens, remoteAgents)
      return mcp.answer(request, gone)
    },
    short: {
      isFor: headers => readiness.isOpen() && tokens.isFresh() && mcp.mayTakeFastPath(headers),
      answer(request, gone) {
        onVisit()
        return mcp.answerBuffered(request, gone)
      },
    },
  }
}

async function refreshed(token: string, tokens: Tokens, remoteAgents: RemoteAgentList): Promise<void> {
  await tokens.fresh(token)
  const holding = tokens.holderOf(token)
  if (holding?.kind === 'agent')
    await remoteAgents.fresh({ organisation: holding.organisation, workspace: holding.name })
}

function bearerOf(header: string | null): string | undefined {
  return /^Bearer (\S+)$/i.exec(header ?? '')?.[1]
}

/** The agent that a token belongs to: one of the folder, or one that runs elsewhere and has a workspace. */
function authenticator(
  tokens: Tokens,
  { core: { agents } }: Runtime,
): (token: string) => AuthenticatedAgent | undefined {
  return token => {
    const holder = tokens.verify(token)
    // A person's token stands for no agent, and so opens nothing here.
    if (holder?.agent === undefined) return undefined
    const { tokenId, organisation, agent: workspace } = holder
    const session = agents.findSession({ organisation, workspace })
    return session && { tokenId, session }
  }
}

/** Persons with tokens of their own, and what they may do with them. */
function personsOf(tokens: Tokens, { core }: Runtime, feed: EventFeed): Persons {
  return {
    holderOf: token => tokens.verify(token),
    fresh: token => tokens.fresh(token),
    controlOf: person =>
      createPersonControl(person, {
        consentServices: core.consentServices,
        operations: core.operations,
        events: feed.ofConsent(person.organisation),
      }),
  }
}

interface Watched {
  readonly project: Project
  readonly runtime: Runtime
  readonly tokens: Tokens
  readonly mcp: Pick<HttpFront, 'counts'>
  readonly outboundWorker: BuiltExternalPeers['outboundWorker']
  requests(): number
  isReady(): boolean
  leave(): void
}

/** Leaves when no bridge, no client and no call has been there for the time that is set. */
function idleWatch({ project, runtime, tokens, mcp, outboundWorker, requests, isReady, leave }: Watched): IdleWatch {
  const isBusy = () => {
    // Sessions and bridges are there between two requests. Streams and those who wait are requests themselves.
    const present = tokens.lent().length + mcp.counts().sessions + requests()
    const working = runtime.core.operations.running().length + outboundWorker.counts().held
    // The bridge that started it waits until it is ready.
    return !isReady() || present + working > 0
  }
  const idleMs = project.settings.backgroundIdleSeconds * 1000
  return createIdleWatch({ clock: createSystemClock(), idleMs, isBusy, onIdle: leave })
}

/** Calls were told to end; their answers still have to get out. */
async function answersOut({ core: { operations } }: Runtime): Promise<void> {
  const until = performance.now() + ANSWERS_MS
  do await wait(ANSWER_MS)
  while (operations.running().length > 0 && performance.now() < until)
}

/** How far a start has come. */
interface Readiness {
  /** Whether agents and tools are read: before, a token would open what its agent may not have, or nothing. */
  isOpen(): boolean
  /** Rejects when it ends before. */
  readonly opened: Promise<void>
  open(): void
  /** Whether everything has been looked at once. */
  is(): boolean
  readonly reached: Promise<void>
  become(): void
  end(): void
  /** Whether it is on its way out. */
  isOver(): boolean
}

export function createReadiness(): Readiness {
  let isOpen = false
  let isReady = false
  let isOver = false
  let open = () => {}
  let giveUp = (_why: AppError) => {}
  let reach = () => {}
  const opened = new Promise<void>((resolve, reject) => {
    open = resolve
    giveUp = reject
  })
  const reached = new Promise<void>(resolve => {
    reach = resolve
  })
  // A waiting request takes the rejection; mostly none waits.
  opened.catch(() => {})
  return {
    isOpen: () => isOpen,
    opened,
    open() {
      isOpen = true
      open()
    },
    is: () => isReady,
    reached,
    become() {
      isReady = true
      reach()
    },
    end() {
      isReady = false
      isOver = true
      giveUp(new AppError('STOPPING', 'Quartermaster is stopping.'))
    },
    isOver: () => isOver,
  }
}

interface IdleWatchDeps {
  readonly clock: Clock
  readonly idleMs: number
  /** Whether someone is connected or something runs right now. */
  isBusy(): boolean
  /** Called once, when no client was there for that long. */
  onIdle(): void
}

/** Notices that no client has been there for a while. */
interface IdleWatch {
  /** A client made a request, however short. */
  touch(): void
  stop(): void
}

/** Looks four times in the idle time, so that it ends at most a quarter late. */
export function createIdleWatch({ clock, idleMs, isBusy, onIdle }: IdleWatchDeps): IdleWatch {
  let busyAt = clock.now()
  let cancel = clock.after(idleMs / 4, look)

  function look(): void {
    if (isBusy()) busyAt = clock.now()
    if (clock.now() - busyAt >= idleMs) return onIdle()
    cancel = clock.after(idleMs / 4, look)
  }

  return {
    touch() {
      busyAt = clock.now()
    },
    stop: () => cancel(),
  }
}

/** The processes that share a store, the one that has run for longest first; nothing where none can. */
async function nodeFacts({ shared }: Pick<OpenedStore, 'shared'>): Promise<NodeFacts[] | undefined> {
  if (!shared) return undefined
  return (await shared.nodes.running()).map(row => factsOf(row, shared.nodes.id))
}

function factsOf({ id, host, version, startedAt, url }: NodeRow, own: string): NodeFacts {
  return { id, host, version, startedAt, ...(url === null ? {} : { url }), isThis: id === own }
}
