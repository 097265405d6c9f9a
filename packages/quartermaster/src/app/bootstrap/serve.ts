import { claudeHttpLine, clientSetup } from '../../adapters/cli/index.ts'
import { type DataFolder, openDataFolder } from '../../adapters/data-folder/index.ts'
import { type Environment, writeFirstAgent } from '../../adapters/project-files/index.ts'
import { createIds, createSystemClock } from '../../adapters/system/index.ts'
import { openTelemetry } from '../../adapters/telemetry/index.ts'
import { type Control, type Events, messageOf, type Settings, type StatusReport } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { Tokens } from '../../core/organisation/index.ts'
import { VERSION } from '../package-info.ts'
import { createEarlyChanges, type LazyStore } from '../project/lazy-store.ts'
import type { ProjectPlace } from '../project/locate-project.ts'
import { type OpenedStore, openStore } from '../project/open-store.ts'
import { openProject, type Project } from '../project/project.ts'
import { takeFolder } from '../project/take-folder.ts'
import { loadUpstreamCode } from '../upstreams/build-upstreams.ts'
import { connectCommand } from './connect-command.ts'
import { createReadiness, type Lifecycle, openFront } from './open-front.ts'
import { createRemoteAgentList } from './remote-agents.ts'
import { createRuntime, type Runtime } from './runtime.ts'

export interface ServeOptions extends ProjectPlace {
  readonly host: string
  readonly port: number
  readonly env: Environment
  readonly log: Log
  readonly signal: AbortSignal
  /** Started by a bridge and not by a person: it creates no agent, gives way to another `up`, and ends when no client is left. */
  readonly background?: boolean | undefined
  readonly ownsProcess: boolean
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

async function start(options: ServeOptions, lifecycle: Lifecycle): Promise<Omit<Serving, 'closed'>> {
  const { env, log, background = false, ownsProcess } = options
  const { project, folder } = await takeProject(options, lifecycle)
  const early = createEarlyChanges()
  const { settings, storeChoice: choice } = project
  const owner = createIds().next('process')
  const clock = createSystemClock()
  const opening = openStore({ folder, choice, settings, clock, log, owner, onChange: early.note })
  // It may fail before anything waits for it; the first that waits receives the error.
  opening.catch(() => {})
  lifecycle.onClose(async () => (await opening.catch(() => undefined))?.close())
  const { tracer, close: sendTraces } = await openTelemetry({ env, version: VERSION, log })
  lifecycle.onClose(sendTraces)
  const storage = storageOf(opening)
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
  announce(runtime, options)
  // What is looked at from here on is dated, and a database may have another time than this machine.
  if (choice.databaseUrl !== undefined) await opening
  // A file opens in threads of its own; meanwhile this one reads definitions.
  runtime.begin()
  const store = await opening
  const readiness = createReadiness()
  const { url, control, workspaceSync } = await openFront({
    options,
    lifecycle,
    project,
    folder,
    runtime,
    store,
    remoteAgents,
    readiness,
    tracer,
  })
  // Only now: a start that fails to listen must not leave a token behind that no person has seen.
  const first = background ? undefined : await makeFirstAgent(project, { tokens: store.tokens, log })
  await runtime.load()
  await workspaceSync.settled()
  readiness.open()
  await within(PATIENCE_MS, runtime.look(), log)
  runtime.watch()
  // Only now: what is to be tried again must not be taken before its tool is there.
  early.tellTo(runtime.core.emitter, { goesOn: true })
  readiness.become()
  runtime.upstreams.start('all')
  void loadUpstreamCode(log).then(runtime.upstreams.clearTheWay)
  return { url, control, first, status: () => control.status({}) }
}

/** The project, and its data folder for this process alone. */
async function takeProject(
  options: ServeOptions,
  { onClose }: Lifecycle,
): Promise<{ project: Project; folder: DataFolder }> {
  const { from, config, data, env, log, background = false } = options
  const project = await openProject({ from, config, data, env, watch: true, log })
  onClose(() => project.close())
  options.onSettings(project.settings)
  const folder = openDataFolder(project.dataDir)
  await folder.ensure()
  const lock = await takeFolder(folder, { background, drainMs: project.settings.drainSeconds * 1000 })
  onClose(() => lock.release())
  return { project, folder }
}

/** A store that is being opened. */
function storageOf(opening: Promise<OpenedStore>): Pick<LazyStore, 'open' | 'current'> {
  let current: OpenedStore | undefined
  // The code that started it takes the rejection.
  opening.then(store => (current = store)).catch(() => {})
  return { open: () => opening, current: () => current }
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

async function within(ms: number, work: Promise<void>, log: Log): Promise<void> {
  work.catch(error => log.error('probing failed', { error: messageOf(error) }))
  let timer: NodeJS.Timeout | undefined
  const enough = new Promise<void>(resolve => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, enough])
  clearTimeout(timer)
}

/** An agent that was just made, with the one sight of its token. */
export interface FirstAgent {
  readonly agent: string
  readonly token: string
}

/** In a folder without any agent: makes the first one, and a token for it. */
export async function makeFirstAgent(
  { projectDir, agentFiles }: Project,
  { tokens, log }: { tokens: Tokens; log: Log },
): Promise<FirstAgent | undefined> {
  if ((await agentFiles.load()).length > 0) return undefined
  try {
    const agent = await writeFirstAgent({ dir: projectDir })
    const { token } = await tokens.create({ agent, label: 'first start' })
    return { agent, token }
  } catch (error) {
    // A folder that cannot be written can still be served; its owner is told what is missing.
    log.warn('The first agent could not be made.', { reason: messageOf(error) })
    return undefined
  }
}

/** What `up` says about connecting: facts for programs, lines for people. */
export interface UpNotes {
  readonly facts: { readonly mcpUrl: string; readonly token?: string }
  readonly notes: readonly string[]
}

/** The line that connects a client: with the token while it is known, otherwise by the bridge, which needs none. */
export async function upNotes(serving: Serving, place: ProjectPlace): Promise<UpNotes> {
  const mcpUrl = `${serving.url}/mcp`
  const address = `MCP        ${mcpUrl}`
  if (serving.first) {
    const { agent, token } = serving.first
    const made = `Made the agent "${agent}", which may read this folder. Connect Claude Code; the token is shown this once:`
    const lines = [address, made, `  ${claudeHttpLine({ mcpUrl, token, agent })}`, ...(await ungranted(serving, agent))]
    return { facts: { mcpUrl, token }, notes: lines }
  }
  const names = (await serving.control.agents({})).map(({ name }) => name)
  const agent = names.includes('default') ? 'default' : names[0]
  if (agent === undefined) return { facts: { mcpUrl }, notes: [address] }
  const { text } = clientSetup('claude', { agent }, await connectCommand({ agent }, place))
  return {
    facts: { mcpUrl },
    notes: [address, 'Connect Claude Code (others: quartermaster connect --help):', `  ${text}`],
  }
}

/** An entry in the configuration is granted to no agent by being there: `add` and `import` grant it, or a person does. */
async function ungranted({ control }: Serving, agent: string): Promise<string[]> {
  const names = (await control.upstreams({})).map(({ name }) => name)
  if (names.length === 0) return []
  return [
    `It has no upstream yet (there are: ${names.join(', ')}). Give it one: quartermaster grant ${agent} ${names[0]}`,
  ]
}
