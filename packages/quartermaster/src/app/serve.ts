import { setTimeout as wait } from 'node:timers/promises'
import { openDataFolder } from '../adapters/data-folder/index.ts'
import { createHttpApp, listen } from '../adapters/http/index.ts'
import { type HttpFront, PROTOCOL_VERSIONS, type Who } from '../adapters/mcp-server/index.ts'
import type { Environment } from '../adapters/project-files/index.ts'
import { createSystemClock } from '../adapters/system/index.ts'
import { openTelemetry } from '../adapters/telemetry/index.ts'
import { type Control, type Events, messageOf, type Settings, type StatusReport } from '../contracts/index.ts'
import type { Log } from '../core/kernel/index.ts'
import type { Storage, StorageAccess } from '../core/operations/index.ts'
import type { Tokens } from '../core/organisation/index.ts'
import { createControl } from './control.ts'
import { type FirstAgent, makeFirstAgent } from './first-agent.ts'
import { createIdleWatch, type IdleWatch } from './idle-watch.ts'
import type { ProjectPlace } from './locate-project.ts'
import { metricsOf } from './metrics.ts'
import { openStore } from './open-store.ts'
import { openProject, type Project } from './project.ts'
import { createRuntime, type Runtime } from './runtime.ts'
import { takeFolder } from './take-folder.ts'
import { createUpControl } from './up-control.ts'
import { VERSION } from './version.ts'

export interface ServeOptions extends ProjectPlace {
  readonly host: string
  readonly port: number
  readonly env: Environment
  readonly log: Log
  readonly signal: AbortSignal
  /** Started by a bridge and not by a person: it makes nothing, gives way to another, and leaves when nobody is there. */
  readonly background?: boolean | undefined
  /** Told once, as soon as the configuration is read. */
  onSettings(settings: Settings): void
  onEvent<K extends keyof Events>(name: K, event: Events[K]): void
}

export interface Serving {
  readonly url: string
  /** The agent that was made because there was none. */
  readonly first: FirstAgent | undefined
  readonly control: Control
  status(): Promise<StatusReport>
  /** Resolves when everything is closed. */
  readonly closed: Promise<void>
}

/** One slow file, and then one silent dependency, may hold up being ready for this long: the rest should not wait for them. */
const PATIENCE_MS = 1_000
/** An answer that is ready is written within this. */
const ANSWER_MS = 10

/** Runs everything in this process until the signal aborts. Whatever was opened is closed again, also when starting fails half way. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const opened: (() => Promise<void>)[] = []
  const closeAll = async () => {
    for (const close of opened.toReversed())
      await close().catch(error => options.log.error('closing failed', { error: messageOf(error) }))
  }
  const leaving = new AbortController()
  try {
    const serving = await start(options, { onClose: close => opened.push(close), leave: () => leaving.abort() })
    const signal = AbortSignal.any([options.signal, leaving.signal])
    const closed = new Promise<void>(resolve => {
      const end = () => void closeAll().then(resolve)
      if (signal.aborted) end()
      else signal.addEventListener('abort', end, { once: true })
    })
    return { ...serving, closed }
  } catch (error) {
    await closeAll()
    throw error
  }
}

interface Life {
  onClose(close: () => Promise<void>): void
  /** Stops it all, as the signal does. */
  leave(): void
}

async function start(options: ServeOptions, { onClose, leave }: Life): Promise<Omit<Serving, 'closed'>> {
  const { env, log, host, port, background = false } = options
  const project = await openProject({
    from: options.from,
    config: options.config,
    data: options.data,
    env,
    watch: true,
    log,
  })
  onClose(() => project.close())
  options.onSettings(project.settings)
  const folder = openDataFolder(project.dataDir)
  await folder.ensure()
  const lock = await takeFolder(folder, { background })
  onClose(() => lock.release())
  const store = await openStore({ folder, settings: project.settings, log })
  onClose(() => store.close())
  const { tokens } = store
  const first = background ? undefined : await makeFirstAgent(project, { tokens, log })
  const token = await folder.adminToken()
  const { tracer, close: sendTraces } = await openTelemetry({ env, version: VERSION, log })
  onClose(sendTraces)
  const runtime = await createRuntime(project, { log, storage: opened(store), tracer, patienceMs: PATIENCE_MS })
  onClose(() => runtime.stop())
  announce(runtime, options)
  let isReady = false
  let becomeReady = () => {}
  const ready = new Promise<void>(resolve => {
    becomeReady = resolve
  })
  const up = createUpControl({
    tokens,
    agents: runtime.core.agents,
    ready,
    leave: background ? leave : undefined,
  })
  const control = createControl(runtime, { from: 'up', isReady: () => isReady, tokens: async () => tokens, up })
  const mcp = runtime.mcp.overHttp({ authenticate: authenticator(tokens, runtime), log })
  onClose(() => mcp.close())
  tokens.onRevoked(id => {
    mcp.end(id).catch(error => log.error('ending sessions failed', { error: messageOf(error) }))
  })
  const metrics = metricsOf(runtime, { mcp, store })
  onClose(async () => metrics.stop())
  const idle = background ? idleWatch({ project, runtime, tokens, mcp, leave, isReady: () => isReady }) : undefined
  onClose(async () => idle?.stop())
  const app = createHttpApp({
    control,
    isAdmin: folder.verifier(token),
    prove: folder.prover(token),
    isReady: () => isReady,
    status: () => ({ version: VERSION, generation: runtime.core.catalogue.current().number }),
    allowedHosts: () => [host, ...project.allowedHosts()],
    mounts: [{ path: '/mcp', handle: visits(mcp.answer, idle) }],
    metrics: { text: metrics.text, access: () => project.settings.metricsAccess },
    discovery: { mcpPath: '/mcp', protocolVersions: PROTOCOL_VERSIONS },
    onRequest: metrics.request,
    tracer,
    log,
  })
  const listener = await listen({ app, host, port, log })
  onClose(() => listener.close())
  // Streams that are meant to stay open would hold up the listener's end for its whole grace time.
  onClose(async () => {
    await answersOut(runtime)
    await mcp.close()
  })
  await folder.writeEndpoint({ url: listener.url, pid: process.pid, startedAt: runtime.startedAt, version: VERSION })
  onClose(() => folder.removeEndpoint())
  // First of all: requests end by themselves once their calls have, so nobody has to be cut off.
  onClose(async () => {
    isReady = false
    runtime.core.calls.stop()
  })
  await runtime.load()
  await within(PATIENCE_MS, runtime.look(), log)
  runtime.watch()
  isReady = true
  becomeReady()
  return { url: listener.url, control, first, status: () => control.status({}) }
}

/** A store that is there from the start. */
function opened(storage: Storage): StorageAccess {
  return { open: async () => storage, current: () => storage }
}

/** Whom a token lets in: its agent, as long as there is one. */
function authenticator(tokens: Tokens, { core: { agents } }: Runtime): (token: string) => Who | undefined {
  return token => {
    const holder = tokens.verify(token)
    if (!holder || !agents.has(holder.agent)) return undefined
    return { tokenId: holder.tokenId, seat: agents.seat(holder.agent) }
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

/** Clients without a session or stream are seen by their requests alone. */
function visits(answer: HttpFront['answer'], idle: IdleWatch | undefined): HttpFront['answer'] {
  return (request, gone) => {
    idle?.touch()
    return answer(request, gone)
  }
}

/** Calls were told to end; their answers still have to get out. */
async function answersOut({ core: { operations } }: Runtime): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  do await wait(ANSWER_MS)
  while (operations.running().length > 0 && performance.now() < until)
}

function announce({ core: { emitter } }: Runtime, { onEvent }: ServeOptions): void {
  const names = [
    'generation.swapped',
    'definitions.rejected',
    'dependency.changed',
    'tools.disabled',
    'tools.restored',
    'agents.reloaded',
    'call.settled',
  ] as const
  for (const name of names) emitter.on(name, event => onEvent(name, event as never))
}

async function within(ms: number, work: Promise<void>, log: Log): Promise<void> {
  work.catch(error => log.error('probing failed', { error: messageOf(error) }))
  let timer: NodeJS.Timeout | undefined
  const enough = new Promise<void>(resolve => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, enough])
  clearTimeout(timer)
}
