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
import { AppError, type Control, messageOf, type NodeFacts } from '../../contracts/index.ts'
import type { Cancel, Clock, Log, Tracer } from '../../core/kernel/index.ts'
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
import { a2aMounts, apiFor, createMetricsFor, lentFiles, skillsOf } from './front-handlers.ts'
import type { Runtime } from './runtime.ts'
import { type RemoteAgentList, syncWorkspaces, type WorkspaceSync } from './workspaces.ts'

/** When what is opened is closed. */
export interface Lifecycle {
  /** The last one registered is closed first. */
  onClose(close: () => Promise<void>): void
  /** Stops everything, as the signal does. */
  leave(): void
}

interface FrontParts {
  readonly options: { host: string; port: number; log: Log; background?: boolean | undefined }
  readonly lifecycle: Lifecycle
  readonly project: Project
  readonly folder: DataFolder
  readonly runtime: Runtime
  readonly store: OpenedStore
  /** The list that the runtime was created with. */
  readonly remoteAgents: RemoteAgentList
  readonly readiness: Readiness
  readonly tracer: Tracer | undefined
}

/** Opens everything that can be reached from outside: control, MCP, API, A2A, metrics, over one HTTP listener. */
export async function openFront(
  parts: FrontParts,
): Promise<{ url: string; control: Control; workspaceSync: WorkspaceSync }> {
  const { options, lifecycle, folder, runtime, store, readiness, remoteAgents } = parts
  const { log, host, port } = options
  const workspaceSync = syncWorkspaces(runtime, store.organisation, log)
  lifecycle.onClose(workspaceSync.stop)
  store.delegations.events.on('delegation.changed', event => runtime.core.emitter.emit('delegation.changed', event))
  const external = buildExternalPeers(parts.project, store, log)
  lifecycle.onClose(() => external.stop())
  external.start()

  const feed = createEventFeed({ emitter: runtime.core.emitter, clock: createSystemClock() })
  const control = createUpControlFor(parts, external, feed)
  await remoteAgents.open({ organisation: store.organisation, news: store.shared?.news })
  const mcp = openMcp(parts)
  const stopPresence = keepPresent(parts, mcp)
  lifecycle.onClose(async () => stopPresence())
  let requests = () => 0
  const app = await openApp(parts, { control, mcp, feed, external, requests: () => requests() })
  const listener = await listen({ ...app, host, port, log })
  requests = listener.open
  const { url } = listener

  // Closed in reverse order: first drain while the listener still answers, then end streams, then close the listener.
  lifecycle.onClose(() => listener.close())
  // A request that waits for a failing start would hold up the listener's end.
  lifecycle.onClose(async () => readiness.end())
  // Streams that stay open would hold up the listener's end for its whole grace time.
  lifecycle.onClose(async () => {
    await answersWritten(runtime)
    // Lent tokens end with this process, and so do the clients that have them.
    await Promise.all(store.tokens.lent().map(({ id }) => mcp.end(id)))
    await mcp.close()
  })
  store.messages.tellUrl(url)
  await store.shared?.nodes.publishUrl(url)
  if (store.shared)
    for (const stop of followOtherNodes(store.shared.news, runtime, log)) lifecycle.onClose(async () => stop())
  await folder.writeEndpoint({ url, pid: process.pid, startedAt: runtime.startedAt, version: VERSION })
  lifecycle.onClose(() => folder.removeEndpoint())
  lifecycle.onClose(async () => {
    store.hurry?.()
    runtime.mcp.stop()
    runtime.core.calls.stop()
    runtime.core.readings.stop()
  })
  lifecycle.onClose(() => drain(parts, feed, mcp))
  return { url, control, workspaceSync }
}

/** The control of the owner of the data folder, with what only an `up` can answer. */
function createUpControlFor(
  { options, lifecycle, runtime, store, readiness }: FrontParts,
  external: BuiltExternalPeers,
  feed: EventFeed,
): Control {
  const up = createUpControl({
    tokens: store.tokens,
    agents: runtime.core.agents,
    filesOf: lentFiles(runtime),
    ready: readiness.ready,
    leave: options.background ? lifecycle.leave : undefined,
    isStopping: readiness.isStopping,
  })
  return createControl(runtime, {
    from: 'up',
    isReady: readiness.isReady,
    tokens: async () => store.tokens,
    organisation: async () => store.organisation,
    memory: async () => store.memory,
    delegations: async () => store.delegations,
    peers: async () => external.peers,
    storeAnswers: store.answers,
    nodes: () => nodeFacts(store),
    up,
    feed,
  })
}

const LOOK_FOR_CLIENTS_MS = 2_000

/** An agent with a stream of MCP open, or a bridge on this machine, is online, though it may send nothing. */
function keepPresent({ options: { log }, store: { organisation, tokens } }: FrontParts, mcp: HttpFront): Cancel {
  const { presence, workspaces } = organisation
  const beatenAt = new Map<string, number>()
  const clock = createSystemClock()

  async function beat(organisation: string, workspace: string): Promise<void> {
    const row = await workspaces.named(organisation, workspace)
    if (row?.status === 'active') presence.beat(row)
  }

  function look(): void {
    const due = clock.now() - presence.nextWithinSeconds * 1_000
    for (const [key, at] of beatenAt) if (at < due) beatenAt.delete(key)
    const lent = tokens.lent().map(({ organisation, agent: workspace }) => ({ organisation, workspace }))
    for (const { organisation, workspace } of [...mcp.connected(), ...lent]) {
      const key = JSON.stringify([organisation, workspace])
      if (beatenAt.has(key)) continue
      beatenAt.set(key, clock.now())
      beat(organisation, workspace).catch(error => log.debug('a heartbeat was left out', { error: messageOf(error) }))
    }
    cancel = clock.after(LOOK_FOR_CLIENTS_MS, look)
  }

  let cancel = clock.after(LOOK_FOR_CLIENTS_MS, look)
  return () => cancel()
}

/** MCP for clients with a token, and only as long as it is valid. */
function openMcp({ options: { log }, lifecycle, runtime, store: { tokens }, remoteAgents }: FrontParts): HttpFront {
  const { agents, emitter } = runtime.core
  const mcp = runtime.mcp.overHttp({ authenticate: token => authenticatedAgent(token, tokens, runtime), log })
  lifecycle.onClose(() => mcp.close())
  const failed = (error: unknown) => log.error('ending sessions failed', { error: messageOf(error) })
  tokens.onRevoked(id => {
    mcp.end(id).catch(failed)
  })
  const endOthers = () => void mcp.endExcept(caller => agents.findSession(caller) !== undefined).catch(failed)
  emitter.on('agents.reloaded', endOthers)
  remoteAgents.onLeft(endOthers)
  return mcp
}

/** The agent that a token belongs to: one of the folder, or one that runs elsewhere and has a workspace. */
function authenticatedAgent(
  token: string,
  tokens: Tokens,
  { core: { agents } }: Runtime,
): AuthenticatedAgent | undefined {
  const holder = tokens.verify(token)
  // A person's token belongs to no agent, and gives no access here.
  if (holder?.agent === undefined) return undefined
  const { tokenId, organisation, agent: workspace } = holder
  const session = agents.findSession({ organisation, workspace })
  return session && { tokenId, session }
}

interface Opened {
  readonly control: Control
  readonly mcp: HttpFront
  readonly feed: EventFeed
  readonly external: BuiltExternalPeers
  /** How many requests are not answered to their end. */
  requests(): number
}

async function openApp(
  parts: FrontParts,
  opened: Opened,
): Promise<{ readonly app: HttpApp; readonly fastPath: FastPath }> {
  const { options, lifecycle, project, folder, runtime, store, readiness, tracer } = parts
  const { control, mcp, feed, external } = opened
  const { settings } = project
  const token = await folder.adminToken()
  const metrics = createMetricsFor(runtime, store, external.peers, mcp)
  lifecycle.onClose(async () => metrics.stop())
  const idle = options.background ? watchIdle(parts, opened) : undefined
  lifecycle.onClose(async () => idle?.stop())
  const onRequest = () => idle?.touch()
  const api = apiFor({ runtime, store, peers: external.peers, settings, onRequest })
  const app: HttpAppOptions = {
    control,
    isAdmin: folder.verifier(token),
    persons: personsFor(store.tokens, runtime, feed),
    api,
    prove: folder.prover(token),
    opened: readiness.opened,
    isReady: readiness.isReady,
    isStopping: readiness.isStopping,
    storeAnswers: store.answers,
    status: () => ({ version: VERSION, generation: runtime.core.catalogue.current().number }),
    allowedHosts: () => [options.host, ...project.allowedHosts()],
    mounts: [
      mcpMount(mcp, parts, onRequest),
      ...a2aMounts({ store, settings, log: options.log, api, skillsOf: place => skillsOf(runtime, place) }),
    ],
    metrics: { text: metrics.text, access: () => settings.metricsAccess },
    discovery: { mcpPath: '/mcp', protocolVersions: PROTOCOL_VERSIONS },
    onRequest: metrics.request,
    tracer,
    log: options.log,
  }
  return { app: createHttpApp(app), fastPath: createFastPath(app) }
}

/** Every request counts as activity: clients without a session or stream are noticed by nothing else. */
function mcpMount(
  mcp: HttpFront,
  { store: { tokens }, remoteAgents, readiness }: FrontParts,
  onRequest: () => void,
): Mount {
  return {
    path: '/mcp',
    async handle(request, gone) {
      onRequest()
      const token = /^Bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
      // While no news of other processes arrives, a token revoked by one of them must not be valid here.
      if (token !== undefined) await refresh(token, tokens, remoteAgents)
      return mcp.answer(request, gone)
    },
    short: {
      isFor: headers => readiness.isOpen() && tokens.isFresh() && mcp.mayTakeFastPath(headers),
      answer(request, gone) {
        onRequest()
        return mcp.answerBuffered(request, gone)
      },
    },
  }
}

async function refresh(token: string, tokens: Tokens, remoteAgents: RemoteAgentList): Promise<void> {
  await tokens.fresh(token)
  const holder = tokens.holderOf(token)
  if (holder?.kind === 'agent') await remoteAgents.fresh({ organisation: holder.organisation, workspace: holder.name })
}

/** Persons with tokens of their own, and what they may do with them. */
function personsFor(tokens: Tokens, { core }: Runtime, feed: EventFeed): Persons {
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

/** Applies here what people decide and where they sign in on another node. */
function followOtherNodes(news: StoreNews, { upstreams, upstreamAuth }: Runtime, log: Log): (() => void)[] {
  return [
    followTable(news, {
      table: 'pins',
      warning: 'what was decided about upstreams elsewhere could not be read',
      log,
      read: upstreams.recall,
    }),
    followTable(news, {
      table: 'secrets',
      warning: 'who has signed in at upstreams elsewhere could not be read',
      log,
      read: createLoginRecall(upstreamAuth, upstreams),
    }),
  ]
}

/** Begins nothing new, ends what merely waits, and gives running handlers the time of the setting. */
async function drain(
  { options: { log }, project: { settings }, runtime, store, readiness }: FrontParts,
  feed: EventFeed,
  mcp: HttpFront,
): Promise<void> {
  readiness.end()
  mcp.drain()
  const { running, over } = runtime.drain(settings.drainSeconds * 1000)
  const calls = running === 1 ? '1 call that runs' : `${running} calls that run`
  if (running > 0) log.info(`Stopping. ${calls} may end within ${settings.drainSeconds} s; Ctrl-C again stops at once.`)
  feed.stop()
  store.messages.stop()
  await store.delegations.stop()
  await over
}

/** An answer that is ready is written within this. */
const ANSWER_MS = 10
/** All answers together have this long. */
const ANSWERS_MS = 1_000

/** Cancelled calls still have to write their answers. */
async function answersWritten({ core: { operations } }: Runtime): Promise<void> {
  const until = performance.now() + ANSWERS_MS
  do await wait(ANSWER_MS)
  while (operations.running().length > 0 && performance.now() < until)
}

/** How far a start has come. */
interface Readiness {
  /** Whether agents and tools are loaded: before, a token would give access to what its agent may not have, or nothing. */
  isOpen(): boolean
  /** Rejects if it stops before. */
  readonly opened: Promise<void>
  open(): void
  /** Whether all dependencies were probed once. */
  isReady(): boolean
  readonly ready: Promise<void>
  setReady(): void
  end(): void
  isStopping(): boolean
}

export function createReadiness(): Readiness {
  let isOpen = false
  let isReady = false
  let isStopping = false
  let resolveOpened = () => {}
  let rejectOpened = (_error: AppError) => {}
  let resolveReady = () => {}
  const opened = new Promise<void>((resolve, reject) => {
    resolveOpened = resolve
    rejectOpened = reject
  })
  const ready = new Promise<void>(resolve => {
    resolveReady = resolve
  })
  // A waiting request takes the rejection; mostly none waits.
  opened.catch(() => {})
  return {
    isOpen: () => isOpen,
    opened,
    open() {
      isOpen = true
      resolveOpened()
    },
    isReady: () => isReady,
    ready,
    setReady() {
      isReady = true
      resolveReady()
    },
    end() {
      isReady = false
      isStopping = true
      rejectOpened(new AppError('STOPPING', 'Quartermaster is stopping.'))
    },
    isStopping: () => isStopping,
  }
}

/** Leaves when there was no bridge, no client and no call for the time of the setting. */
function watchIdle(
  { project, runtime, store: { tokens }, lifecycle, readiness }: FrontParts,
  { mcp, external, requests }: Opened,
): IdleWatch {
  const isBusy = () => {
    // Sessions and bridges exist between two requests. Streams and waiting clients are requests themselves.
    const clients = tokens.lent().length + mcp.counts().sessions + requests()
    const working = runtime.core.operations.running().length + external.outboundWorker.counts().held
    // The bridge that started this process waits until it is ready.
    return !readiness.isReady() || clients + working > 0
  }
  const idleMs = project.settings.backgroundIdleSeconds * 1000
  return createIdleWatch({ clock: createSystemClock(), idleMs, isBusy, onIdle: lifecycle.leave })
}

interface IdleWatch {
  /** A client made a request, however short. */
  touch(): void
  stop(): void
}

/** Calls `onIdle` once, after that long without activity. Checks four times in it, so it is at most a quarter late. */
export function createIdleWatch({
  clock,
  idleMs,
  isBusy,
  onIdle,
}: {
  readonly clock: Clock
  readonly idleMs: number
  /** Whether a client is connected or something runs now. */
  isBusy(): boolean
  onIdle(): void
}): IdleWatch {
  let busyAt = clock.now()
  let cancel = clock.after(idleMs / 4, check)

  function check(): void {
    if (isBusy()) busyAt = clock.now()
    if (clock.now() - busyAt >= idleMs) return onIdle()
    cancel = clock.after(idleMs / 4, check)
  }

  return {
    touch() {
      busyAt = clock.now()
    },
    stop: () => cancel(),
  }
}

/** The processes that share the store, the oldest first; `undefined` if it cannot be shared. */
async function nodeFacts({ shared }: OpenedStore): Promise<NodeFacts[] | undefined> {
  if (!shared) return undefined
  return (await shared.nodes.running()).map(({ id, host, version, startedAt, url }) => ({
    ...{ id, host, version, startedAt, isThis: id === shared.nodes.id },
    ...(url === null ? {} : { url }),
  }))
}
