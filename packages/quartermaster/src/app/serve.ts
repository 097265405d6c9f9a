import { openDataFolder } from '../adapters/data-folder/index.ts'
import { createHttpApp, listen } from '../adapters/http/index.ts'
import type { Who } from '../adapters/mcp-server/index.ts'
import type { Environment } from '../adapters/project-files/index.ts'
import { type Control, type Events, messageOf, type Settings, type StatusReport } from '../contracts/index.ts'
import type { Log } from '../core/kernel/index.ts'
import type { Tokens } from '../core/organisation/index.ts'
import { createControl } from './control.ts'
import type { ProjectPlace } from './locate-project.ts'
import { openTokens } from './open-tokens.ts'
import { openProject } from './project.ts'
import { createRuntime, type Runtime } from './runtime.ts'
import { VERSION } from './version.ts'

export interface ServeOptions extends ProjectPlace {
  readonly host: string
  readonly port: number
  readonly env: Environment
  readonly log: Log
  readonly signal: AbortSignal
  /** Told once, as soon as the configuration is read. */
  onSettings(settings: Settings): void
  onEvent<K extends keyof Events>(name: K, event: Events[K]): void
}

export interface Serving {
  readonly url: string
  readonly control: Control
  status(): Promise<StatusReport>
  /** Resolves when everything is closed. */
  readonly closed: Promise<void>
}

/** One slow file, and then one silent dependency, may hold up being ready for this long: the rest should not wait for them. */
const PATIENCE_MS = 1_000

/** Runs everything in this process until the signal aborts. Whatever was opened is closed again, also when starting fails half way. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const opened: (() => Promise<void>)[] = []
  const closeAll = async () => {
    for (const close of opened.toReversed())
      await close().catch(error => options.log.error('closing failed', { error: messageOf(error) }))
  }
  try {
    const serving = await start(options, close => opened.push(close))
    const closed = new Promise<void>(resolve => {
      const end = () => void closeAll().then(resolve)
      if (options.signal.aborted) end()
      else options.signal.addEventListener('abort', end, { once: true })
    })
    return { ...serving, closed }
  } catch (error) {
    await closeAll()
    throw error
  }
}

async function start(
  options: ServeOptions,
  onClose: (close: () => Promise<void>) => void,
): Promise<Omit<Serving, 'closed'>> {
  const { env, log, host, port } = options
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
  const lock = await folder.lock()
  onClose(() => lock.release())
  const { tokens, close } = await openTokens({ dataDir: project.dataDir, log })
  onClose(close)
  const token = await folder.adminToken()
  const runtime = await createRuntime(project, { log, patienceMs: PATIENCE_MS })
  onClose(() => runtime.stop())
  announce(runtime, options)
  let isReady = false
  const control = createControl(runtime, { from: 'up', isReady: () => isReady, tokens: async () => tokens })
  const mcp = runtime.mcp.overHttp({ authenticate: authenticator(tokens, runtime), log })
  onClose(() => mcp.close())
  tokens.onRevoked(id => {
    mcp.end(id).catch(error => log.error('ending sessions failed', { error: messageOf(error) }))
  })
  const app = createHttpApp({
    control,
    isAdmin: folder.verifier(token),
    prove: folder.prover(token),
    isReady: () => isReady,
    status: () => ({ version: VERSION, generation: runtime.core.catalogue.current().number }),
    allowedHosts: () => [host, ...project.allowedHosts()],
    mounts: [{ path: '/mcp', handle: mcp.handle }],
    log,
  })
  const listener = await listen({ app, host, port, log })
  onClose(() => listener.close())
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
  return { url: listener.url, control, status: () => control.status({}) }
}

/** Whom a token lets in: its agent, as long as there is one. */
function authenticator(tokens: Tokens, { core: { agents } }: Runtime): (token: string) => Who | undefined {
  return token => {
    const holder = tokens.verify(token)
    if (!holder || !agents.has(holder.agent)) return undefined
    return { tokenId: holder.tokenId, seat: agents.seat(holder.agent) }
  }
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
