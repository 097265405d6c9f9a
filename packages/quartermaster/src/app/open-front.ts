import { setTimeout as wait } from 'node:timers/promises'
import type { DataFolder } from '../adapters/data-folder/index.ts'
import {
  createHttpApp,
  createShortWay,
  type HttpApp,
  type HttpAppOptions,
  listen,
  type Mount,
  type Persons,
  type ShortWay,
} from '../adapters/http/index.ts'
import { type HttpFront, PROTOCOL_VERSIONS, type Who } from '../adapters/mcp-server/index.ts'
import { createSystemClock } from '../adapters/system/index.ts'
import { type Control, messageOf } from '../contracts/index.ts'
import type { Log, Tracer } from '../core/kernel/index.ts'
import type { Organisation, Tokens } from '../core/organisation/index.ts'
import { createPersonControl } from './consent-control.ts'
import { createControl } from './control.ts'
import { createEventFeed, type EventFeed } from './event-feed.ts'
import { followPins } from './follow-pins.ts'
import { createIdleWatch, type IdleWatch } from './idle-watch.ts'
import { metricsOf } from './metrics.ts'
import { nodeFacts } from './node-facts.ts'
import type { OpenedStore } from './open-store.ts'
import { organisationDoor } from './organisation-door.ts'
import type { Project } from './project.ts'
import type { Readiness } from './readiness.ts'
import type { Runtime } from './runtime.ts'
import { createSeating, type Seating } from './seating.ts'
import { createStepAside } from './step-aside.ts'
import { createUpControl } from './up-control.ts'
import { VERSION } from './version.ts'

/** How long what is opened lives. */
export interface Life {
  onClose(close: () => Promise<void>): void
  /** Stops it all, as the signal does. */
  leave(): void
}

/** An answer that is ready is written within this. */
const ANSWER_MS = 10
/** All of them together have this long to get out. */
const ANSWERS_MS = 1_000

export interface FrontParts {
  readonly options: { host: string; port: number; log: Log; background?: boolean | undefined }
  readonly life: Life
  readonly project: Project
  readonly folder: DataFolder
  readonly runtime: Runtime
  readonly store: OpenedStore
  readonly readiness: Readiness
  readonly tracer: Tracer | undefined
}

/** Everything that can be reached from outside. */
export async function openFront(parts: FrontParts): Promise<{ url: string; control: Control; seating: Seating }> {
  const { options, life, folder, runtime, store, readiness } = parts
  const { log, host, port, background } = options
  const { tokens } = store
  const leave = background ? stepAside(parts) : undefined
  const up = createUpControl({ tokens, agents: runtime.core.agents, ready: readiness.reached, leave })
  const feed = createEventFeed({ emitter: runtime.core.emitter, clock: createSystemClock() })
  const { answers: storeAnswers } = store
  const seating = createSeating(runtime, store.organisation, log)
  life.onClose(seating.stop)
  const seats = { tokens: async () => tokens, organisation: async () => store.organisation }
  const lent = { ...seats, storeAnswers, nodes: () => nodeFacts(store) }
  const control = createControl(runtime, { from: 'up', isReady: readiness.is, ...lent, up, feed })
  const mcp = openMcp(parts)
  const listener = await listen({ ...(await openApp(parts, { control, mcp, feed })), host, port, log })
  life.onClose(() => listener.close())
  // Streams that are meant to stay open would hold up the listener's end for its whole grace time.
  life.onClose(async () => {
    await answersOut(runtime)
    await mcp.close()
  })
  const { url } = listener
  await store.shared?.nodes.tellUrl(url)
  if (store.shared) {
    const stopFollowing = followPins(store.shared.news, runtime.upstreams, log)
    life.onClose(async () => stopFollowing())
  }
  await folder.writeEndpoint({ url, pid: process.pid, startedAt: runtime.startedAt, version: VERSION })
  life.onClose(() => folder.removeEndpoint())
  // First of all: requests end by themselves once their calls have, so nobody has to be cut off.
  life.onClose(async () => {
    readiness.end()
    feed.stop()
    runtime.mcp.stop()
    runtime.core.calls.stop()
    runtime.core.readings.stop()
  })
  return { url, control, seating }
}

function stepAside({ runtime: { core }, life: { leave } }: FrontParts): () => void {
  return createStepAside({ clock: createSystemClock(), running: () => core.operations.running().length, leave })
}

/** MCP for whoever has a token, and only as long as it is good. */
function openMcp({ options: { log }, life, runtime, store: { tokens, organisation } }: FrontParts): HttpFront {
  const mcp = runtime.mcp.overHttp({ authenticate: authenticator(organisation, runtime), log })
  life.onClose(() => mcp.close())
  const failed = (error: unknown) => log.error('ending sessions failed', { error: messageOf(error) })
  tokens.onRevoked(id => {
    mcp.end(id).catch(failed)
  })
  const { agents, emitter } = runtime.core
  emitter.on('agents.reloaded', () => void mcp.endAgentsBut(agents.has).catch(failed))
  return mcp
}

interface OpenedApp {
  readonly app: HttpApp
  readonly shortWay: ShortWay
}

async function openApp(
  parts: FrontParts,
  { control, mcp, feed }: { control: Control; mcp: HttpFront; feed: EventFeed },
): Promise<OpenedApp> {
  const { options, life, project, folder, runtime, store, readiness, tracer } = parts
  const token = await folder.adminToken()
  const metrics = metricsOf(runtime, { mcp, store })
  life.onClose(async () => metrics.stop())
  const { leave } = life
  const watched = { project, runtime, tokens: store.tokens, mcp, leave, isReady: readiness.is }
  const idle = options.background ? idleWatch(watched) : undefined
  life.onClose(async () => idle?.stop())
  const app: HttpAppOptions = {
    control,
    isAdmin: folder.verifier(token),
    persons: personsOf(store.tokens, runtime, feed),
    organisation: organisationDoor({ runtime, store, settings: project.settings, onVisit: () => idle?.touch() }),
    prove: folder.prover(token),
    isReady: readiness.is,
    storeAnswers: store.answers,
    status: () => ({ version: VERSION, generation: runtime.core.catalogue.current().number }),
    allowedHosts: () => [options.host, ...project.allowedHosts()],
    mounts: [mcpMount(mcp, store.tokens, () => idle?.touch())],
    metrics: { text: metrics.text, access: () => project.settings.metricsAccess },
    discovery: { mcpPath: '/mcp', protocolVersions: PROTOCOL_VERSIONS },
    onRequest: metrics.request,
    tracer,
    log: options.log,
  }
  return { app: createHttpApp(app), shortWay: createShortWay(app) }
}

/** Every request is a visit: clients without a session or stream are seen by their requests alone. */
function mcpMount(mcp: HttpFront, tokens: Tokens, onVisit: () => void): Mount {
  return {
    path: '/mcp',
    async handle(request, gone) {
      onVisit()
      const token = bearerOf(request.headers.get('authorization'))
      // Where nothing is heard of what other processes do, a token that was taken back there must not count here.
      if (token !== undefined) await tokens.fresh(token)
      return mcp.answer(request, gone)
    },
    short: {
      isFor: headers => tokens.isFresh() && mcp.mayBeOrdinary(headers),
      answer(request, gone) {
        onVisit()
        return mcp.answerWhole(request, gone)
      },
    },
  }
}

function bearerOf(header: string | null): string | undefined {
  return /^Bearer (\S+)$/i.exec(header ?? '')?.[1]
}

/** Whom a token lets in: its agent, as long as there is one. */
function authenticator(
  { tokens, seats }: Organisation,
  { core: { agents } }: Runtime,
): (token: string) => Who | undefined {
  return token => {
    const { tokenId, agent } = tokens.verify(token) ?? {}
    // A person's token stands for no agent, and so opens nothing here.
    if (tokenId === undefined || agent === undefined || !agents.has(agent)) return undefined
    // It may be the token of somebody who joined under the name that an agent has by now.
    if (seats.isTaken(agent)) return undefined
    return { tokenId, seat: agents.seat(agent) }
  }
}

/** Persons with tokens of their own, and what they may do with them. */
function personsOf(tokens: Tokens, { core }: Runtime, feed: EventFeed): Persons {
  return {
    holderOf: token => tokens.verify(token),
    fresh: token => tokens.fresh(token),
    controlOf: name =>
      createPersonControl(name, { desk: core.consentDesk, operations: core.operations, events: feed.ofConsent }),
  }
}

interface Watched {
  readonly project: Project
  readonly runtime: Runtime
  readonly tokens: Tokens
  readonly mcp: Pick<HttpFront, 'counts'>
  isReady(): boolean
  leave(): void
}

/** Leaves when no bridge, no client and no call has been there for the time that is set. */
function idleWatch({ project, runtime, tokens, mcp, isReady, leave }: Watched): IdleWatch {
  const isBusy = () => {
    const { sessions, streams } = mcp.counts()
    // Whoever started it waits until it is ready.
    return !isReady() || tokens.lent() + sessions + streams + runtime.core.operations.running().length > 0
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
