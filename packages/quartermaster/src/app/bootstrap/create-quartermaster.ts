import type { RemoteToolboxOptions } from '../../adapters/mcp-client/index.ts'
import { createSystemClock, keepingAlive, keptAlive, silentLog } from '../../adapters/system/index.ts'
import {
  type AgentConfig,
  AppError,
  type CallAnswer,
  type CapabilityConfig,
  type CapabilityDescriptor,
  CONTROL,
  type Control,
  type ControlInput,
  type ControlOptions,
  closedToolbox,
  type DependencyStatus,
  issueText,
  type McpServerConfig,
  type OpenToolbox,
  type RecheckAnswer,
  type ReloadReport,
  type ResolvedCapabilities,
  type ResolverContext,
  type RunMode,
  type Toolbox,
  type ToolboxOptions,
  type ToolDetail,
  type ToolSummary,
} from '../../contracts/index.ts'
import {
  type AgentSession,
  type Agents,
  type CapabilityRegistry,
  filterTools,
  listTools,
  refuseIssues,
  toolDetail,
} from '../../core/agents/index.ts'
import { type Capability, type Op, registerOp } from '../../core/catalogue/index.ts'
import { createListeners, firstIssues, type Log, validatePosition, withoutUndefined } from '../../core/kernel/index.ts'
import type { KeptResults } from '../../core/operations/index.ts'
import { createEarlyChanges, type EarlyChanges } from '../project/lazy-store.ts'
import { openProject, type Project } from '../project/project.ts'
import { createLocalRuntime, type LocalRuntime } from './local-runtime.ts'

export interface QuartermasterOptions {
  /** The project folder, or any folder below it; the working folder when absent. */
  dir?: string
  /** The configuration file, instead of looking for one. */
  config?: string
  /** The data folder; `.quartermaster` in the project folder when absent. */
  data?: string
  /** Capabilities of the host program, beside those of the project. */
  capabilities?: readonly Capability[]
  /** Ops of the host program, for the project's declarations to make tools of. */
  ops?: readonly Op[]
  /** Looks at dependencies in the background and picks up edited files. */
  watch?: boolean
  env?: Readonly<Record<string, string | undefined>>
  log?: Log
}

/** Quartermaster inside your own program. */
export interface Quartermaster {
  /** Registers, resolves and lists capabilities. */
  readonly registry: CapabilityRegistry
  /** Everything the command line can do. */
  readonly control: Control
  /** In order of definition. */
  tools(filter?: { state?: 'active' | 'disabled'; section?: string }): ToolSummary[]
  /** Throws `TOOL_NOT_FOUND`, and `TOOL_DISABLED` for one that is held back. */
  tool(name: string): ToolDetail
  disabled(): ToolSummary[]
  /** Throws `DEPENDENCY_UNKNOWN`. */
  dependency(name: string): DependencyStatus
  recheck(name: string, options?: { force?: boolean }): Promise<RecheckAnswer>
  reload(): Promise<ReloadReport>
  /** Registers a callable of the host program, at once, for declarations to make tools of. Throws `DEFINITION_INVALID`. */
  readonly registerOp: typeof registerOp
  /** Calls a tool as an agent, through the whole call path. */
  call(request: Omit<ControlInput<'call'>, 'consented'>, options?: ControlOptions): Promise<CallAnswer>
  /**
   * An agent's tools as they are now, for whatever runs it. Throws `AGENT_NOT_FOUND`, and `CAPABILITY_UNKNOWN` or `CONFIG_INVALID`
   * where its file names what does not exist.
   */
  toolbox(agent: string, options?: ToolboxOptions): OpenToolbox
  resolve(capabilities: Record<string, CapabilityConfig>, context: ResolverContext): ResolvedCapabilities
  resolveInjections(mode: RunMode, context: ResolverContext): Record<string, McpServerConfig>
  knownCapabilities(): CapabilityDescriptor[]
  /** The context that resolvers get when this agent runs. */
  contextFor(agent: string, run?: Pick<ResolverContext, 'thread' | 'callbacks'>): ResolverContext
  /**
   * Takes no more calls, lets the handlers that run end for `drainSeconds` (a setting, unless said here), cancels the others, and
   * closes everything.
   */
  stop(options?: { drainSeconds?: number }): Promise<void>
}

/** Opens a project folder in this process, and probes everything it needs. */
export function createQuartermaster(options: QuartermasterOptions = {}): Promise<Quartermaster> {
  return keptAlive(open(options))
}

async function open(options: QuartermasterOptions): Promise<Quartermaster> {
  const { dir = process.cwd(), env = process.env, log = silentLog, watch = false } = options
  const project = await openProject({ from: dir, config: options.config, data: options.data, env, watch, log })
  const early = createEarlyChanges()
  const local = await startRuntime(project, early, { ...options, log })
  const { runtime, storage } = local
  const { core } = runtime
  const { catalogue, health, registry, agents } = core
  if (watch) runtime.watch()
  early.emitTo(core.emitter, { continuesWork: watch })
  const control = keepingAlive(local.control)
  const tools: Quartermaster['tools'] = filter =>
    filterTools(listTools(catalogue.current().tools.values(), health), filter)
  return keepingAlive<Quartermaster>({
    registry,
    control,
    tools,
    tool: name => toolDetail(catalogue.tool(name), health),
    disabled: () => tools({ state: 'disabled' }),
    dependency: name => health.dependency(name),
    recheck: (name, { force = false } = {}) => health.recheck(name, { force }),
    reload: () => runtime.reload(),
    registerOp: (id, definition) => {
      const op = registerOp(id, definition)
      catalogue.registerOp(op)
      return op
    },
    call: async (request, more) => control.call(parseCall(request), more),
    toolbox(agent, more = {}) {
      const session = agents.session(agent)
      refuseWrong(agents, agent)
      const toolbox = runtime.mcp.toolbox(session, more)
      return keepingAlive(hostToolbox(toolbox, { caller: session.caller, results: core.results, log }))
    },
    resolve: (wanted, context) => registry.resolve(wanted, context),
    resolveInjections: (mode, context) => registry.resolveInjections(mode, context),
    knownCapabilities: () => registry.knownCapabilities(),
    contextFor(agent, run = {}) {
      const config: AgentConfig = agents.entry(agent).config ?? { capabilities: {} }
      const named = { ...config, name: agent }
      return { ...runtime.folders(named), agent: named, ...run }
    },
    async stop({ drainSeconds = project.settings.drainSeconds } = {}) {
      const { over } = runtime.drain(drainSeconds * 1000)
      const opened = storage.current()
      opened?.messages.stop()
      await opened?.delegations.stop()
      await over
      if (opened) await (await local.peers()).stop()
      await runtime.stop()
      await storage.close()
    },
  })
}

/** Opens everything, and closes it again when that fails half way. */
async function startRuntime(
  project: Project,
  early: EarlyChanges,
  { log, capabilities = [], ops = [] }: QuartermasterOptions & { log: Log },
): Promise<LocalRuntime> {
  let local: LocalRuntime | undefined
  try {
    local = await createLocalRuntime(project, {
      log,
      forOneCommand: false,
      ownsProcess: false,
      onChange: early.note,
    })
    const { runtime } = local
    for (const op of ops) runtime.core.catalogue.registerOp(op)
    for (const capability of capabilities) runtime.core.registry.register(capability)
    await runtime.load()
    await runtime.probe()
    return local
  } catch (error) {
    await (local ? local.runtime.stop() : project.close())
    throw error
  }
}

/** A host program learns what is wrong with an agent's capabilities; a gateway continues without them. */
function refuseWrong(agents: Agents, name: string): void {
  const { config, file, wrong = {} } = agents.entry(name)
  if (config) refuseIssues(agents.issuesWith(name, config))
  const lines = Object.entries(wrong).map(([key, reason]) => `${file}: "${key}": ${reason}`)
  if (lines.length > 0) throw new AppError('CONFIG_INVALID', lines.join('\n'))
}

/** Host programs are not always typed. */
function parseCall(request: unknown): ControlInput<'call'> {
  const parsed = CONTROL.call.input.omit({ consented: true }).safeParse(request)
  if (parsed.success) return parsed.data
  throw new AppError('INPUT_INVALID', firstIssues(parsed.error.issues).map(issueText).join(' '))
}

/** The tools of the agent whose token this is, behind a running `up`: the same as in its process. */
export async function openToolbox(options: RemoteToolboxOptions): Promise<OpenToolbox> {
  // Loaded on demand: project code imports this package as well, and needs no client.
  const { connectToolbox } = await import('../../adapters/mcp-client/index.ts')
  return connectToolbox(options, { clock: createSystemClock(), random: Math.random })
}

/** The toolbox as its host program holds it: an exception in the program's listener must not reach us. */
function hostToolbox(
  toolbox: Toolbox,
  { caller, results, log }: { caller: AgentSession['caller']; results: Pick<KeptResults, 'page'>; log: Log },
): OpenToolbox {
  const listeners = createListeners({
    onError: error => log.warn('A listener to changes of a toolbox has thrown.', { error: String(error) }),
  })
  let isClosed = false
  let stopFollowing: (() => void) | undefined
  return {
    ...toolbox,
    call: async (name, input, options) => toolbox.call(name, withoutUndefined(input), options),
    async page(resultId, offset) {
      if (isClosed) throw closedToolbox()
      validatePosition(resultId, offset)
      const { text, nextOffset } = await results.page(caller, resultId, offset)
      return nextOffset === undefined ? { text } : { text, nextOffset }
    },
    onChange(listener) {
      if (isClosed) throw closedToolbox()
      stopFollowing ??= toolbox.onChange(listeners.notify)
      return listeners.add(listener)
    },
    async close() {
      isClosed = true
      listeners.clear()
      stopFollowing?.()
      await toolbox.close()
    },
  }
}
