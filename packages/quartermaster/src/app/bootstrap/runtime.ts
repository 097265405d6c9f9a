import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { createSchemaCompiler } from '../../adapters/json-schema/index.ts'
import type { McpServers } from '../../adapters/mcp-server/index.ts'
import type { MountChanges, UpstreamAuth, Upstreams } from '../../adapters/mcp-upstream/index.ts'
import { createIds, sha256, systemRandom } from '../../adapters/system/index.ts'
import { type Actor, AppError, type Events, messageOf, type Problem, type ReloadReport } from '../../contracts/index.ts'
import type { AgentSession, RemoteAgents } from '../../core/agents/index.ts'
import { newProblems } from '../../core/catalogue/index.ts'
import { type Clock, didYouMean, type Log, type Tracer, upstreamUnit } from '../../core/kernel/index.ts'
import type { StorageAccess } from '../../core/operations/index.ts'
import { VERSION } from '../package-info.ts'
import { effectKindsOf, type Project } from '../project/project.ts'
import { createAgentLogins, createWithdrawnUpstreams } from '../upstreams/agent-changes.ts'
import { buildUpstreams, createOutside } from '../upstreams/build-upstreams.ts'
import { createNamedServers, createUpstreamListings, hasTools } from '../upstreams/upstream-listings.ts'
import { dependencyOptionsIn } from '../upstreams/upstream-status.ts'
import { buildCore, type Core, type CorePorts } from './build-core.ts'
import { createInstructions, createPlatform, type PlatformAccess } from './platform.ts'

/** A core that runs on a project folder. */
export interface Runtime {
  readonly core: Core
  /** The MCP servers for agents, over this core. */
  readonly mcp: McpServers
  readonly project: Project
  /** The mounted MCP servers. */
  readonly upstreams: Upstreams
  /** The logins at these servers. */
  upstreamAuth(): Promise<UpstreamAuth>
  readonly startedAt: number
  /** Starts reading definitions, which takes longest; `load` waits for them. */
  startLoading(): void
  /** Loads definitions and agents. */
  load(): Promise<void>
  /** Probes new dependencies. */
  probe(): Promise<void>
  /** For one command: reads stored listings that could not be read before. Throws why they still cannot be. */
  readListings(): Promise<void>
  /** For `doctor` without an `up`: connects every server, waits a while, and takes in what they list now. */
  connectAll(): Promise<void>
  /** Probes in the background, and picks up edited files if the project is watched. */
  watch(): void
  /** Reads configuration, agents and definitions again. */
  reload(): Promise<ReloadReport>
  /** All that is wrong with configuration, definitions and agents now. */
  problems(): Problem[]
  /** Adds these to `problems`, evaluated each time. */
  addProblems(more: () => readonly Problem[]): void
  /** The folders of an agent. */
  readonly folders: CorePorts['folders']
  /**
   * Accepts nothing more and ends waiting calls at once; running handlers have this long to end, and are cancelled then.
   * Answers how many run, and when it is over.
   */
  drain(withinMs: number): { readonly running: number; readonly over: Promise<void> }
  stop(): Promise<void>
}

export interface RuntimeOptions {
  readonly log: Log
  readonly clock: Clock
  /** Where calls are recorded. */
  readonly storage: StorageAccess
  /** The store behind the platform's tools. */
  readonly platform: PlatformAccess
  /** Identifies this process among those that run operations. */
  readonly owner: string
  /** Agents with a workspace that run elsewhere; none when absent. */
  readonly remoteAgents?: RemoteAgents | undefined
  readonly tracer?: Tracer | undefined
  /** How long one slow file may hold up the first generation. A command waits for all files; `up` starts without. */
  readonly patienceMs?: number
  /** `up` keeps upstreams running; other processes start those they need. */
  readonly keepsUpstreams?: boolean
  /** For one command no other process can open the store meanwhile, so no person could approve a waiting call. */
  readonly forOneCommand?: boolean
  /** Agents run in this process, so a path that they name is a path here. Those of `up` run elsewhere. */
  readonly hasLocalAgents?: boolean
  /** Whether stack traces may use source maps: it concerns the whole process, so a host program decides for itself. */
  readonly ownsProcess?: boolean
}

const PATIENCE_MS = 60_000

export async function createRuntime(project: Project, options: RuntimeOptions): Promise<Runtime> {
  const { log, clock, storage, keepsUpstreams = false, forOneCommand = false, ownsProcess = false } = options
  const ids = createIds()
  // Loaded on demand, so that commands which only talk to a running `up` do without the MCP SDK.
  const { createMcpServers } = await import('../../adapters/mcp-server/index.ts')

  const { services, clientGone } = createPlatform(options.platform, {
    folderOf: actor => (options.hasLocalAgents ? workspaceDirOf(actor) : undefined),
    lacksInbox: place =>
      core.agents.isAgent(place) &&
      !core.agents
        .session(place.workspace)
        .view()
        .tools.some(({ capability }) => capability === 'inbox'),
  })

  // Upstreams: the MCP servers that the project or a capability mounts.
  let firstLoad: Promise<unknown> | undefined
  const ports = { clock, ids, random: systemRandom, digest: sha256, log, storage }
  const { upstreams, auth, programs } = buildUpstreams(project, {
    ...ports,
    isOwner: keepsUpstreams,
    // A server's remarks about tools of others can be judged only once these are known.
    async tools() {
      await firstLoad
      return core.catalogue.current().tools
    },
  })
  const outside = createOutside({ clock, runner: programs, projectDir: project.projectDir, env: project.env })
  const named = createNamedServers({ upstreams, digest: sha256, log, reload: () => core.catalogue.reload() })

  // The core, and the MCP servers for agents, which it renders.
  let mcp: McpServers | undefined
  const folders: CorePorts['folders'] = ({ workspaceDir }) => ({
    agentDir: join(project.projectDir, 'agents'),
    workspaceDir: resolve(project.projectDir, workspaceDir ?? '.'),
  })
  const core: Core = buildCore({
    ...ports,
    owner: options.owner,
    remoteAgents: options.remoteAgents,
    mount: named.mount,
    connectUnseen: (unit, withinMs) => listings.connectUnseen(unit, withinMs),
    compiler: createSchemaCompiler(),
    effectKinds: effectKindsOf(project),
    sources: [...project.sources, upstreams.source],
    agentStore: project.agentFiles,
    secrets: project.secrets,
    settings: forOneCommand ? { ...project.settings, consentWaitSeconds: 0 } : project.settings,
    tracer: options.tracer,
    patienceMs: options.patienceMs ?? PATIENCE_MS,
    dependencyOptions: name => dependencyOptionsIn(project, name),
    folders,
    tellEnd: (operation, caller) => mcp?.notifyEnded(operation, caller) ?? false,
    endListeners: () => mcp?.reachableCallers() ?? [],
    serverFactory(parts) {
      mcp = createMcpServers({
        ...parts,
        clock,
        ids,
        log,
        instructionsFor: createInstructions(services.memory, clock, log),
        // Without an `up` the first lists have waited for new servers already.
        ...(keepsUpstreams ? { beforeList: (session: AgentSession) => listings.beforeList(session) } : {}),
        clientGone: client =>
          clientGone(client).catch(error => {
            // Its lease expires.
            log.debug('what a client had in hand was not given back', { client, error: messageOf(error) })
          }),
        settings: project.settings,
        version: VERSION,
      })
      return mcp.inProcess
    },
  })
  if (!mcp) throw new AppError('INTERNAL', 'The core was built without its servers.')
  const listings = createUpstreamListings({ upstreams, core, clock, settings: project.settings })
  followChanges({ core, upstreams, auth, log, keepsUpstreams })

  const agentEntries = () => core.agents.names().map(name => core.agents.entry(name))

  async function reloadAgents(): Promise<MountChanges> {
    const known = project.problems()
    const entries = new Set(agentEntries())
    await project.reload()
    const [changes] = await Promise.all([upstreams.configure(project.upstreams()), core.agents.reload()])
    const changed = agentEntries().filter(entry => !entries.has(entry))
    reject([...newProblems(project.problems(), known), ...changed.flatMap(({ name }) => core.agents.problems(name))])
    // The configuration may have switched a dependency on or off.
    core.health.adopt(core.catalogue.current())
    await core.health.probeNew()
    return changes
  }

  function reject(problems: readonly Problem[]): void {
    if (problems.length > 0) core.emitter.emit('definitions.rejected', { problems })
  }

  let wasPartial = true

  /** Reports agents whose files name what a change of definitions removed. One agent per turn of the event loop. */
  async function rejectStaleGrants({ added, changed, removed }: Events['generation.swapped']): Promise<void> {
    const { isPartial } = core.catalogue.current()
    const keys = new Set([...added, ...changed, ...removed].flatMap(address => capabilityIn(address) ?? []))
    // While a source had not answered, a name could still be defined; now it is missing.
    const isComplete = wasPartial && !isPartial
    wasPartial = isPartial
    if (keys.size === 0 && !isComplete) return
    for (const name of core.agents.names()) {
      await clock.breathe()
      if (core.agents.has(name)) reject(core.agents.staleGrants(name, isComplete ? undefined : keys))
    }
  }

  /** An actor that only shares an agent's name has none of its folders. */
  function workspaceDirOf(actor: Actor): string | undefined {
    if (!core.agents.isAgent(actor)) return undefined
    const { workspace: name } = actor
    const { config = { capabilities: {} } } = core.agents.entry(name)
    return folders({ ...config, name }).workspaceDir
  }

  let loading: Promise<void> | undefined
  function loadDefinitions(): Promise<void> {
    loading ??= readDefinitions()
    return loading
  }

  async function readDefinitions(): Promise<void> {
    // Not earlier: Node would read the maps of all modules loaded after this, and our own take a third of the start.
    if (ownsProcess) process.setSourceMapsEnabled(true)
    // `up` starts the others when it is ready itself: together they would take the processor from it for seconds.
    if (!forOneCommand) upstreams.start(keepsUpstreams ? 'first' : 'unseen')
    const mounting = upstreams.configure(project.upstreams())
    const first = core.catalogue.reload()
    // The caller of this function receives the failure.
    firstLoad = first.catch(() => {})
    // `up` does not wait for upstreams: their definitions come once they are connected.
    if (keepsUpstreams || project.upstreams().size === 0) return void (await first)
    await Promise.all([first, mounting.then(listings.settled)])
    await listings.takeIn()
  }

  /** Checking the agents mounts the servers that their capabilities name. */
  async function connectNamed(): Promise<void> {
    core.agents.problems()
    if (!named.hasAny()) return
    await listings.settled()
    await core.catalogue.reload()
  }

  const moreProblems: (() => readonly Problem[])[] = []
  const runtime: Runtime = {
    core,
    mcp,
    project,
    upstreams,
    upstreamAuth: auth,
    startedAt: Math.round(clock.now()),
    folders,
    startLoading: () => void loadDefinitions().catch(() => {}),
    async load() {
      await Promise.all([core.agents.reload(), loadDefinitions()])
      if (!keepsUpstreams) await connectNamed()
    },
    probe: () => core.health.probeNew(),
    connectAll: listings.connectAll,
    readListings: listings.readListings,
    watch() {
      wasPartial = core.catalogue.current().isPartial
      core.emitter.on('generation.swapped', swap => {
        rejectStaleGrants(swap).catch(error => log.error('agents were not checked', { error: messageOf(error) }))
      })
      core.work()
      core.health.watch()
      core.catalogue.watch()
      project.agentFiles.onChange(() => {
        reloadAgents().catch(error => log.error('reload failed', { error: messageOf(error) }))
      })
    },
    async reload() {
      const changes = await reloadAgents()
      const report = await core.catalogue.reload()
      // A replaced server may list what it did before, and would otherwise be missing in the report.
      const names = (which: keyof MountChanges) => [...changes[which].map(upstreamUnit), ...report[which]]
      const changed = { added: names('added'), changed: names('changed'), removed: names('removed') }
      const rejected = [...project.problems(), ...core.agents.problems(), ...report.rejected]
      return { ...report, ...changed, rejected }
    },
    problems: () => [
      ...project.problems(),
      ...unknownDependencies(core, project),
      ...core.catalogue.problems(),
      ...core.agents.problems(),
      ...moreProblems.flatMap(problems => problems()),
    ],
    addProblems: more => void moreProblems.push(more),
    drain(withinMs) {
      const ended = core.drain()
      return { running: core.running(), over: within(withinMs, ended).then(() => core.calls.stop()) }
    },
    async stop() {
      named.stop()
      await core.stop()
      await upstreams.stop()
      await outside.close()
      await project.close()
    },
  }
  const { catalogue, health } = core
  project.attach({
    registry: {
      generation: () => catalogue.current(),
      problems: runtime.problems,
      dependencies: () => health.dependencies(),
      availability: tool => health.availability(tool),
      missing: tool => health.missing(tool),
      recheck: (name, given) => health.recheck(name, given),
      reload: runtime.reload,
    },
    platform: services,
    web: outside.web,
    programs: outside.programs,
  })
  return runtime
}

/** Keeps upstreams informed: of new tools, which their descriptions may mention, and of agents that come, go or lose them. */
function followChanges({
  core: { emitter, agents },
  upstreams,
  auth,
  log,
  keepsUpstreams,
}: {
  readonly core: Core
  readonly upstreams: Upstreams
  auth(): Promise<UpstreamAuth>
  readonly log: Log
  readonly keepsUpstreams: boolean
}): void {
  emitter.on('generation.swapped', ({ generation, added }) => {
    // A process that does not keep upstreams begins with what another process has scanned.
    if (generation === 1 && !keepsUpstreams) return
    if (hasTools(added)) void upstreams.lookAgain()
  })
  const agentLogins = createAgentLogins({ auth, upstreams, log })
  const withdrawn = createWithdrawnUpstreams({ agents, upstreams })
  emitter.on('agents.reloaded', ({ names }) => {
    void agentLogins(names)
    withdrawn(names)
  })
}

/** Resolves with the work, or after that time. Its timer keeps the process alive: a host program may have nothing else. */
export async function within(ms: number, work: Promise<void>): Promise<void> {
  const enough = new AbortController()
  await Promise.race([work, setTimeout(ms, undefined, enough).catch(() => {})])
  enough.abort()
}

function capabilityIn(address: string): string | undefined {
  return address.startsWith('capability:') ? address.slice('capability:'.length) : undefined
}

/** A switch for a dependency that does not exist has no effect, and its owner should know. */
function unknownDependencies(core: Core, project: Project): Problem[] {
  const { dependencies } = core.catalogue.current()
  const unknown = project.configuredDependencies().filter(name => !dependencies.has(name))
  return unknown.map(name => ({
    severity: 'warning',
    code: 'CONFIG_INVALID',
    where: project.configFile ?? 'configuration',
    field: `dependencies.${name}`,
    message: `No dependency is named "${name}".${didYouMean(name, dependencies.keys())}`,
  }))
}
