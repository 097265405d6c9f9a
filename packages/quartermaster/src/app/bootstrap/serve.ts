import { setTimeout as wait } from 'node:timers/promises'
import { claudeHttpLine, clientSetup } from '../../adapters/cli/index.ts'
import { createControlClient } from '../../adapters/control-client/index.ts'
import { connectToOwner, type DataFolder, type OwnerLock, openDataFolder } from '../../adapters/data-folder/index.ts'
import { type Environment, writeFirstAgent } from '../../adapters/project-files/index.ts'
import { createIds, createSystemClock } from '../../adapters/system/index.ts'
import { openTelemetry } from '../../adapters/telemetry/index.ts'
import { type Control, type Events, messageOf, type Settings, type StatusReport } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { Tokens } from '../../core/organisation/index.ts'
import { VERSION } from '../package-info.ts'
import { createEarlyChanges, isLocked } from '../project/lazy-store.ts'
import type { ProjectPlace } from '../project/locate-project.ts'
import { type OpenedStore, openStore } from '../project/open-store.ts'
import { openProject, type Project } from '../project/project.ts'
import { loadUpstreamCode } from '../upstreams/build-upstreams.ts'
import { createReadiness, type Lifecycle, openFront } from './open-front.ts'
import { createRuntime, type Runtime, within } from './runtime.ts'
import { createRemoteAgentList } from './workspaces.ts'

export interface ServeOptions extends ProjectPlace {
  readonly host: string
  readonly port: number
  readonly env: Environment
  readonly log: Log
  readonly signal: AbortSignal
  /** Started by a bridge: it creates no agent, gives way to an `up` of a person, and ends when no client is left. */
  readonly background?: boolean | undefined
  readonly ownsProcess: boolean
  /** Called once, as soon as the configuration is read. */
  onSettings(settings: Settings): void
  onEvent<K extends keyof Events>(name: K, event: Events[K]): void
}

export interface Serving {
  readonly url: string
  /** The agent that was created because there was none, with its token. */
  readonly first: FirstAgent | undefined
  readonly control: Control
  status(): Promise<StatusReport>
  /** Resolves when everything is closed. */
  readonly closed: Promise<void>
}

/** Runs everything in this process until the signal aborts. Closes what it opened, also when starting fails half way. */
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

/** How long one slow file, and after that one silent dependency, may delay readiness. */
const PATIENCE_MS = 1_000

async function start(options: ServeOptions, lifecycle: Lifecycle): Promise<Omit<Serving, 'closed'>> {
  const { from, config, data, env, log, background = false, ownsProcess } = options

  // The project, and its data folder for this process alone.
  const project = await openProject({ from, config, data, env, watch: true, log })
  lifecycle.onClose(() => project.close())
  const { settings, storeChoice: choice } = project
  options.onSettings(settings)
  const folder = openDataFolder(project.dataDir)
  await folder.ensure()
  const lock = await lockFolder(folder, { background, drainMs: settings.drainSeconds * 1000 })
  lifecycle.onClose(() => lock.release())

  // The store opens in threads of its own; meanwhile this one reads definitions.
  const early = createEarlyChanges()
  const owner = createIds().next('process')
  const clock = createSystemClock()
  const opening = openStore({ folder, choice, settings, clock, log, owner, onChange: early.note })
  // It may fail before anything waits for it; the first to wait receives the error.
  opening.catch(() => {})
  lifecycle.onClose(async () => (await opening.catch(() => undefined))?.close())
  const storage = storageOf(opening)

  const { tracer, close: sendTraces } = await openTelemetry({ env, version: VERSION, log })
  lifecycle.onClose(sendTraces)
  const remoteAgents = createRemoteAgentList(clock, log)
  lifecycle.onClose(async () => remoteAgents.stop())
  const runtime = await createRuntime(project, {
    log,
    clock,
    storage,
    platform: storage,
    owner,
    remoteAgents,
    tracer,
    patienceMs: PATIENCE_MS,
    keepsUpstreams: true,
    ownsProcess,
  })
  lifecycle.onClose(() => runtime.stop())
  forwardEvents(runtime, options)
  // Probes are dated from here on, and a database may have another time than this machine.
  if (choice.databaseUrl !== undefined) await opening
  runtime.startLoading()
  const store = await opening

  const readiness = createReadiness()
  const front = { options, lifecycle, project, folder, runtime, store, remoteAgents, readiness, tracer }
  const { url, control, workspaceSync } = await openFront(front)

  // After listening: a start that fails there must not leave a token behind that no person has seen.
  const first = background ? undefined : await createFirstAgent(project, store.tokens, log)
  await runtime.load()
  await workspaceSync.settled()
  readiness.open()
  const probed = runtime.probe().catch(error => log.error('probing failed', { error: messageOf(error) }))
  await within(PATIENCE_MS, probed)
  runtime.watch()
  // After loading: a retry must not be leased before its tool exists.
  early.emitTo(runtime.core.emitter, { continuesWork: true })
  readiness.setReady()
  runtime.upstreams.start('all')
  void loadUpstreamCode(log).then(runtime.upstreams.clearTheWay)
  return { url, control, first, status: () => control.status({}) }
}

/** A leaving `up` lets running calls end first, and then has this long to close. */
const CLOSING_MS = 10_000
/** An owner that does not say where it listens is starting, ending, or a command that is done in a moment. */
const UNKNOWN_MS = 3_000
const LOOK_EVERY_MS = 50

/**
 * Locks the data folder. An `up` in the background gives way to one that a person starts: that person could not tell why
 * their `up` does not start, or find the other one to stop it.
 */
async function lockFolder(
  folder: DataFolder,
  { background, drainMs }: { background: boolean; drainMs: number },
): Promise<OwnerLock> {
  if (background) return folder.lock()
  let until = performance.now() + UNKNOWN_MS
  let isLeaving = false
  for (;;) {
    try {
      return await folder.lock()
    } catch (error) {
      if (!isLocked(error) || performance.now() > until) throw error
      const answer = isLeaving ? 'leaves' : await requestLock(folder)
      if (answer === 'stays') throw error
      if (answer === 'leaves' && !isLeaving) [isLeaving, until] = [true, performance.now() + drainMs + CLOSING_MS]
    }
    await wait(LOOK_EVERY_MS)
  }
}

async function requestLock({ dir }: DataFolder): Promise<'leaves' | 'stays' | 'unknown'> {
  const owner = await connectToOwner({ dir })
  if (!owner) return 'unknown'
  try {
    return (await createControlClient(owner).stepAside({})).leaving ? 'leaves' : 'stays'
  } catch {
    // It is about to end, or too old to know the operation: the next attempt tells.
    return 'unknown'
  }
}

function storageOf(opening: Promise<OpenedStore>) {
  let current: OpenedStore | undefined
  // The code that started it takes the rejection.
  opening.then(store => (current = store)).catch(() => {})
  return { open: () => opening, current: () => current }
}

function forwardEvents({ core: { emitter } }: Runtime, { onEvent }: ServeOptions): void {
  const names = [
    'generation.swapped',
    'definitions.rejected',
    'dependency.changed',
    'tools.disabled',
    'tools.restored',
    'agents.reloaded',
    'call.settled',
    'operation.changed',
    'operation.dropped',
    'approval.opened',
    'approval.answered',
    'grants.revoked',
    'workspace.changed',
    'presence.changed',
    'delegation.changed',
  ] as const
  for (const name of names) emitter.on(name, event => onEvent(name, event as never))
}

/** An agent that was just created. Its token is shown this once. */
interface FirstAgent {
  readonly agent: string
  readonly token: string
}

/** In a folder without any agent: creates the first one, and a token for it. */
async function createFirstAgent(
  { projectDir, agentFiles }: Project,
  tokens: Tokens,
  log: Log,
): Promise<FirstAgent | undefined> {
  if ((await agentFiles.load()).length > 0) return undefined
  try {
    const agent = await writeFirstAgent({ dir: projectDir })
    const { token } = await tokens.create({ agent, label: 'first start' })
    return { agent, token }
  } catch (error) {
    // A folder that cannot be written can still be served; its owner learns what is missing.
    log.warn('The first agent could not be made.', { reason: messageOf(error) })
    return undefined
  }
}

/** What `up` prints about connecting: facts for programs, lines for people. */
interface UpNotes {
  readonly facts: { readonly mcpUrl: string; readonly token?: string }
  readonly notes: readonly string[]
}

/** The line that connects a client: with the token while it is known, otherwise by the bridge, which needs none. */
export async function upNotes({ url, first, control }: Serving, place: ProjectPlace): Promise<UpNotes> {
  const mcpUrl = `${url}/mcp`
  const address = `MCP        ${mcpUrl}`
  if (first) {
    const { agent, token } = first
    const made = `Made the agent "${agent}", which may read this folder. Connect Claude Code; the token is shown this once:`
    const notes = [address, made, `  ${claudeHttpLine({ mcpUrl, token, agent })}`, ...(await ungranted(control, agent))]
    return { facts: { mcpUrl, token }, notes }
  }
  const names = (await control.agents({})).map(({ name }) => name)
  const agent = names.includes('default') ? 'default' : names[0]
  if (agent === undefined) return { facts: { mcpUrl }, notes: [address] }
  const { connectCommand } = await import('./client-setup.ts')
  const { text } = clientSetup('claude', { agent }, await connectCommand({ agent }, place))
  return {
    facts: { mcpUrl },
    notes: [address, 'Connect Claude Code (others: quartermaster connect --help):', `  ${text}`],
  }
}

/** An entry in the configuration gives no agent anything: `add`, `import` or a person grants it. */
async function ungranted(control: Control, agent: string): Promise<string[]> {
  const names = (await control.upstreams({})).map(({ name }) => name)
  if (names.length === 0) return []
  return [
    `It has no upstream yet (there are: ${names.join(', ')}). Give it one: quartermaster grant ${agent} ${names[0]}`,
  ]
}
