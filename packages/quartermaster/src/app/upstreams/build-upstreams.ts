import {
  createUpstreams,
  loadUpstreamParts,
  type UpstreamAuth,
  type UpstreamParts,
  type Upstreams,
} from '../../adapters/mcp-upstream/index.ts'
import { program } from '../../adapters/probes/index.ts'
import { loadProgramParts, locatedProgram } from '../../adapters/programs/index.ts'
import { AppError, messageOf } from '../../contracts/index.ts'
import type { ProgramService, WebService } from '../../core/catalogue/index.ts'
import {
  type Clock,
  type Digest,
  type Ids,
  type Log,
  memoize,
  type Random,
  upstreamOfUnit,
} from '../../core/kernel/index.ts'
import type { StorageAccess } from '../../core/operations/index.ts'
import { createLeases, type LeaseStore } from '../../core/store/index.ts'
import type { NamedTool } from '../../core/upstreams/index.ts'
import { VERSION } from '../package-info.ts'
import type { Project } from '../project/project.ts'

interface UpstreamPorts {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly random: Random
  readonly digest: Digest
  readonly log: Log
  /** Whether it owns the data folder, and so the programs that an earlier run left behind. */
  readonly isOwner: boolean
  /** All tools with their units, once the first definitions are loaded. */
  tools(): Promise<ReadonlyMap<string, NamedTool>>
}

/** The mounted MCP servers and the logins at them. */
interface BuiltUpstreams {
  readonly upstreams: Upstreams
  auth(): Promise<UpstreamAuth>
  /** Runs programs for the project's tools. They end together with those of upstreams. */
  readonly programs: ProgramRunner
}

/** Runs programs, and ends those that run. */
interface ProgramRunner {
  readonly run: ProgramService['run']
  close(): Promise<void>
}

export function buildUpstreams(project: Project, ports: UpstreamPorts): BuiltUpstreams {
  const parts = memoize(() => makeParts(project, ports))
  const { clock, log } = ports
  let isRunner = false
  const programs: ProgramRunner = {
    async run(request) {
      isRunner = true
      return (await parts()).runProgram(request)
    },
    // Upstreams end their own programs.
    close: async () => (isRunner ? (await parts()).close() : undefined),
  }
  return { upstreams: createUpstreams({ clock, log, parts }), auth: async () => (await parts()).auth, programs }
}

const loadCode = () => Promise.all([loadProgramParts(), loadUpstreamParts(), import('../../core/upstreams/index.ts')])

/** Loads the code that is otherwise loaded on demand: a package update while this process runs replaces the files. */
export async function loadUpstreamCode(log: Log): Promise<void> {
  await loadCode().catch(error => log.warn('code for upstreams could not be loaded', { error: messageOf(error) }))
}

type MadeParts = UpstreamParts & { readonly auth: UpstreamAuth; readonly runProgram: ProgramService['run'] }

async function makeParts(project: Project, ports: UpstreamPorts): Promise<MadeParts> {
  const [{ createProcessManager, createProgramRunner }, { createMounted, createUpstreamAuth }, core] = await loadCode()
  const { projectDir, dataDir, settings } = project
  const { clock, log } = ports
  const processes = createProcessManager({ clock, dataDir, warn: message => log.warn(message) })
  const pins = core.createPinBook({ ...ports, scanner: core.createScanner(ports) })
  const memory = core.createUpstreamMemory(ports)
  const secrets = () => project.upstreamSecrets()
  const leases = createLeases({
    ...ports,
    leaseMs: settings.leaseSeconds * 1000,
    place: () => leasePlace(project, ports),
  })
  const auth = createUpstreamAuth({ ...ports, leases, credentials: core.createUpstreamCredentials(ports) })
  const toolsOfOthers = core.createToolsOfOthers({ ...ports, ownNameOf: tool => ownNameOf(tool, project) })
  const hasAgent = async (name: string) => (await project.agentFiles.read(name)) !== undefined
  const known = { processes, auth, pins, memory, secrets, leases, toolsOfOthers, hasAgent }
  const common = { ...ports, ...known, projectDir, dataDir, settings, version: VERSION }
  return {
    pins,
    memory,
    auth,
    runProgram: createProgramRunner({ processes, projectDir, dataDir, clock }),
    create: options => createMounted(common, options),
    async prepare() {
      const swept = ports.isOwner ? await processes.sweep() : 0
      if (swept > 0) log.warn('programs of an earlier run were still there and have been ended', { count: swept })
    },
    close: () => processes.close(),
  }
}

/** A tool's name at its own server: without prefix, and before renaming. */
function ownNameOf({ name, unit }: NamedTool, project: Project): string {
  const upstream = upstreamOfUnit(unit)
  if (upstream === undefined) return name
  const { tools = {}, prefix = upstream } = project.upstreams().get(upstream) ?? {}
  const renamed = Object.keys(tools).find(own => tools[own]?.name === name)
  if (renamed !== undefined) return renamed
  return prefix !== false && name.startsWith(`${prefix}_`) ? name.slice(prefix.length + 1) : name
}

/** Leases are needed only where several processes share a store. */
async function leasePlace({ storeChoice }: Project, { storage }: UpstreamPorts): Promise<LeaseStore | undefined> {
  // A store in a file is not shared, and not opened for this alone.
  if (storeChoice.databaseUrl === undefined) return undefined
  const { store, shared } = await storage.open()
  return shared && { store, news: shared.news, time: shared.time, self: shared.nodes.self }
}

/** What modules may use outside of this process. */
interface Outside {
  readonly web: WebService
  readonly programs: ProgramService
  /** Ends running requests and programs. */
  close(): Promise<void>
}

export function createOutside({
  clock,
  runner,
  projectDir,
  env,
}: {
  readonly clock: Clock
  readonly runner: ProgramRunner
  readonly projectDir: string
  readonly env: Readonly<Record<string, string | undefined>>
}): Outside {
  const web = createWeb({ clock })
  return {
    web,
    programs: {
      run: runner.run,
      probe: name => program({ command: locatedProgram(name, projectDir) }),
      variable: name => env[name],
    },
    async close() {
      await runner.close()
      await web.close()
    },
  }
}

/** HTTP requests of tools. Loaded with the first request: most projects have no such tool. */
export function createWeb({ clock }: { readonly clock: Clock }): WebService & { close(): Promise<void> } {
  let isUsed = false
  let isClosed = false
  const client = memoize(async () => (await import('../../adapters/http-client/index.ts')).createWebClient({ clock }))
  return {
    async send(request) {
      if (isClosed) throw new AppError('STOPPING', 'Quartermaster is stopping.')
      isUsed = true
      return (await client()).send(request)
    },
    async close() {
      isClosed = true
      if (isUsed) (await client()).close()
    },
  }
}
