import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { createSchemaCompiler } from '../../adapters/json-schema/index.ts'
import type { McpServers } from '../../adapters/mcp-server/index.ts'
import type { MeetChoice, MountChanges, UpstreamAuth, Upstreams } from '../../adapters/mcp-upstream/index.ts'
import { createIds, sha256, systemRandom } from '../../adapters/system/index.ts'
import { type Actor, AppError, type Events, messageOf, type Problem, type ReloadReport } from '../../contracts/index.ts'
import type { AgentSession, RemoteAgents } from '../../core/agents/index.ts'
import { newProblems, type RegistryService } from '../../core/catalogue/index.ts'
import { type Clock, didYouMean, type Log, type Tracer, upstreamUnit } from '../../core/kernel/index.ts'
import type { StorageAccess } from '../../core/operations/index.ts'
import { VERSION } from '../package-info.ts'
import { effectKindsOf, type Project } from '../project/project.ts'
import { createAgentLogins, createWithdrawnUpstreams } from '../upstreams/agent-changes.ts'
import { buildUpstreams, createOutside } from '../upstreams/build-upstreams.ts'
import { dependencyOptionsIn } from '../upstreams/upstream-dependencies.ts'
import { createNamedServers, createUpstreamListings, hasTools } from '../upstreams/upstream-listings.ts'
import { buildCore, type Core, type CorePorts } from './build-core.ts'
import { createInstructions, createPlatform, type PlatformAccess } from './platform.ts'

/** A core that runs on a project folder. */
export interface Runtime {
  readonly core: Core
  /** The servers in front, over this core. */
  readonly mcp: McpServers
  readonly project: Project
  /** The MCP servers of others. */
  readonly upstreams: Upstreams
  /** What people have signed in to. */
  upstreamAuth(): Promise<UpstreamAuth>
  readonly startedAt: number
  /** Begins with the definitions, which takes longest; `load` waits for them. */
  begin(): void
  /** Definitions and agents. */
  load(): Promise<void>
  /** The first look at dependencies. */
  look(): Promise<void>
  /**
   * Reads what is known of servers and could not be read while all was loaded, where that is for one command. Throws why it still
   * cannot be.
   */
  readAgain(): Promise<void>
  /**
   * For one command: connects the servers that were never listed, or only these of them, and waits a while for their definitions.
   * Each once.
   */
  meet(only?: MeetChoice): Promise<void>
  /** For one command: connects all servers that were listed before, or only this one, and takes in what they list now. Each once. */
  meetAgain(name?: string): Promise<void>
  /** Looks in the background, and picks up edited files if the project is watched. */
  watch(): void
  /** Reads configuration, agents and definitions again. */
  reload(): Promise<ReloadReport>
  /** Everything that is wrong with configuration, definitions and agents now. */
  problems(): Problem[]
  /** Adds these to the problems, as they are at the time of asking. */
  alsoProblems(more: () => readonly Problem[]): void
  /** Where an agent lives, for resolvers. */
  readonly folders: CorePorts['folders']
  /**
   * Takes nothing more and ends what merely waits at once; handlers that run have this long to end, and are cancelled then. Answers
   * how many are waited for, and when it is over.
   */
  drain(withinMs: number): { readonly running: number; readonly over: Promise<void> }
  stop(): Promise<void>
}

export interface RuntimeOptions {
  readonly log: Log
  /** Of the whole process. */
  readonly clock: Clock
  /** Where calls are written down. */
  readonly storage: StorageAccess
  /** What the platform's tools work on. */
  readonly platform: PlatformAccess
  /** Who this process is among those that run operations; made up when absent. */
  readonly owner?: string | undefined
  /** Agents with a workspace that run elsewhere; none when absent. */
  readonly remoteAgents?: RemoteAgents | undefined
  readonly tracer?: Tracer | undefined
  /** How long one slow file may hold up the first generation. A command waits for all; `up` is there for the rest at once. */
  readonly patienceMs?: number
  /** `up` keeps upstreams running; a process for one command starts those it needs. */
  readonly keepsUpstreams?: boolean
  /** Made for one command: while it runs no other process gets at the store, so no person could allow a call that waits. */
  readonly isBrief?: boolean
  /** Whether agents are in this process, so that what they call a path is one here. Those of `up` are elsewhere. */
  readonly isBeside?: boolean
  /** Whether stacks of project code name its own lines. It concerns the whole process, so a host program decides that itself. */
  readonly ownsProcess?: boolean
}

const PATIENCE_MS = 60_000

export async function createRuntime(
  project: Project,
  {
    log,
    clock,
    storage,
    platform,
    owner,
    remoteAgents,
    tracer,
    patienceMs = PATIENCE_MS,
    keepsUpstreams = false,
    isBrief = false,
    isBeside = false,
    ownsProcess = false,
  }: RuntimeOptions,
): Promise<Runtime> {
  const ids = createIds()
  // Loaded here and not above, so that commands which only talk to a running `up` do without the MCP SDK.
  const { createMcpServers } = await import('../../adapters/mcp-server/index.ts')
  let mcp: McpServers | undefined
  const { services, clientGone } = createPlatform(platform, {
    folderOf: actor => (isBeside ? workspaceDirOf(actor) : undefined),
    lacksInbox: place =>
      core.agents.isAgent(place) && !core.agents.session(place.workspace).view().tools.some(isOfInbox),
  })
  const instructionsFor = createInstructions(services.memory, clock, log)
  const outside = { clock, ids, random: systemRandom, digest: sha256, log, storage }
  const { upstreams, auth, programs } = buildUpstreams(project, {
    ...outside,
    isOwner: keepsUpstreams,
    async tools() {
      await firstRead
      return core.catalogue.current().tools
    },
  })
  const reach = createOutside({ clock, runner: programs, projectDir: project.projectDir, env: project.env })
  // What a server says about the tools of others can only be judged by who knows these.
  let firstRead: Promise<unknown> | undefined
  const named = createNamedServers({ upstreams, digest: sha256, log, reload: () => core.catalogue.reload() })
  const ports: CorePorts = {
    ...outside,
    owner,
    remoteAgents,
    mount: named.mount,
    connectUnseen: (unit, withinMs) => listings.connectUnseen(unit, withinMs),
    compiler: createSchemaCompiler(),
    effectKinds: effectKindsOf(project),
    sources: [...project.sources, upstreams.source],
    agentStore: project.agentFiles,
    secrets: project.secrets,
    settings: isBrief ? { ...project.settings, consentWaitSeconds: 0 } : project.settings,
    tracer,
    patienceMs,
    dependencyOptions: name => dependencyOptionsIn(project, name),
    folders: ({ workspaceDir }) => ({
      agentDir: join(project.projectDir, 'agents'),
      workspaceDir: resolve(project.projectDir, workspaceDir ?? '.'),
    }),
    tellEnd: (operation, caller) => mcp?.notifyEnded(operation, caller) ?? false,
    endListeners: () => mcp?.reachableCallers() ?? [],
    serverFactory: parts => {
      mcp = createMcpServers({
        ...parts,
        clock,
        ids,
        log,
        instructionsFor,
        // Without an `up` servers that were never seen have been waited for already.
        ...(keepsUpstreams ? { beforeList: (session: AgentSession) => listings.beforeList(session) } : {}),
        clientGone: client =>
          clientGone(client).catch(error => {
            // Its lease ends by itself.
            log.debug('what a client had in hand was not given back', { client, error: messageOf(error) })
          }),
        settings: project.settings,
        version: VERSION,
      })
      return mcp.inProcess
    },
  }
  const core: Core = buildCore(ports)
  if (!mcp) throw new AppError('INTERNAL', 'The core was built without its servers.')
  core.emitter.on('generation.swapped', ({ generation, added }) => {
    // A process that does not keep upstreams begins with what another process has checked.
    if (generation === 1 && !keepsUpstreams) return
    if (hasTools(added)) void upstreams.lookAgain()
  })
  const agentLogins = createAgentLogins({ auth, upstreams, log })
  const withdrawn = createWithdrawnUpstreams({ agents: core.agents, upstreams })
  core.emitter.on('agents.reloaded', ({ names }) => {
    void agentLogins(names)
    withdrawn(names)
  })
  const listings = createUpstreamListings({ upstreams, core, clock, settings: project.settings })
  const startedAt = Math.round(clock.now())

  const agentEntries = () => core.agents.names().map(name => core.agents.entry(name))

  /** Answers which servers of others that has brought, changed and taken away. */
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

  /** Reports agents whose files name what a change of definitions took away. One agent per turn of the event loop. */
  async function rejectStaleGrants({ added, changed, removed }: Events['generation.swapped']): Promise<void> {
    const { isPartial } = core.catalogue.current()
    const keys = new Set([...added, ...changed, ...removed].flatMap(address => capabilityIn(address) ?? []))
    // What a source had not yet answered for may still have come; now it is missing.
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
    return ports.folders({ ...config, name }).workspaceDir
  }

  const moreProblems: (() => readonly Problem[])[] = []
  let reading: Promise<unknown> | undefined
  function definitions(): Promise<unknown> {
    // Only now: Node would read the maps of everything that is loaded after this, and our own take a third of the start.
    if (ownsProcess) process.setSourceMapsEnabled(true)
    reading ??= readDefinitions()
    return reading
  }

  async function readDefinitions(): Promise<unknown> {
    // `up` starts the others when it is ready itself: together they would take the processor from it for seconds.
    // Most commands need none, or one that was seen before and is started by its first call.
    if (!isBrief) upstreams.start(keepsUpstreams ? 'first' : 'unseen')
    const mounting = upstreams.configure(project.upstreams())
    const first = core.catalogue.reload()
    // The caller of this function receives the failure.
    firstRead = first.catch(() => {})
    // `up` does not wait for upstreams: their definitions come once they are connected.
    if (keepsUpstreams || project.upstreams().size === 0) return first
    await Promise.all([first, mounting.then(listings.settled)])
    return listings.takeIn()
  }

  /** Looking at the agents has the servers mounted that their capabilities name. */
  async function meetNamed(): Promise<void> {
    core.agents.problems()
    if (!named.hasAny()) return
    await listings.settled()
    await core.catalogue.reload()
  }

  const runtime: Runtime = {
    core,
    mcp,
    project,
    upstreams,
    upstreamAuth: auth,
    startedAt,
    folders: ports.folders,
    begin: () => void definitions().catch(() => {}),
    async load() {
      await Promise.all([core.agents.reload(), definitions()])
      if (!keepsUpstreams) await meetNamed()
    },
    look: () => core.health.probeNew(),
    meet: listings.meet,
    meetAgain: listings.meetAgain,
    readAgain: listings.readAgain,
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
      const rejected = [...project.problems(), ...core.agents.problems(), ...report.rejected]
      return { ...withUpstreams(report, changes), rejected }
    },
    problems: () => [
      ...project.problems(),
      ...unknownDependencies(core, project),
      ...core.catalogue.problems(),
      ...core.agents.problems(),
      ...moreProblems.flatMap(problems => problems()),
    ],
    alsoProblems: more => void moreProblems.push(more),
    drain(withinMs) {
      const ended = core.drain()
      return { running: core.running(), over: within(withinMs, ended).then(() => core.calls.stop()) }
    },
    async stop() {
      named.stop()
      await core.stop()
      await upstreams.stop()
      await reach.close()
      await project.close()
    },
  }
  project.attach({ registry: registryService(runtime), platform: services, web: reach.web, programs: reach.programs })
  return runtime
}

/** Resolves with the work, or after that time. Its timer keeps the process alive: a host program may have nothing else. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const enough = new AbortController()
  await Promise.race([work, setTimeout(ms, undefined, enough).catch(() => {})])
  enough.abort()
}

/** A server that is mounted again may list what it did before, and would otherwise be missing in the report. */
function withUpstreams(report: ReloadReport, changes: MountChanges): ReloadReport {
  const told = (which: keyof MountChanges) => [...changes[which].map(upstreamUnit), ...report[which]]
  return { ...report, added: told('added'), changed: told('changed'), removed: told('removed') }
}

/** What built-in and project modules may see and do of all this. */
function registryService({ core: { catalogue, health }, problems, reload }: Runtime): RegistryService {
  return {
    generation: () => catalogue.current(),
    problems,
    dependencies: () => health.dependencies(),
    availability: tool => health.availability(tool),
    missing: tool => health.missing(tool),
    recheck: (name, options) => health.recheck(name, options),
    reload,
  }
}

function capabilityIn(address: string): string | undefined {
  return address.startsWith('capability:') ? address.slice('capability:'.length) : undefined
}

/** A switch for something that does not exist switches nothing, and its owner should know. */
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

function isOfInbox({ capability }: { readonly capability: string }): boolean {
  return capability === 'inbox'
}
