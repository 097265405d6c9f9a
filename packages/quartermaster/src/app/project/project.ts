import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createEffectKinds } from '../../adapters/effects/index.ts'
import { createKnowledgeSource, createPackedSource } from '../../adapters/knowledge-files/index.ts'
import { type ClosableSource, createBuiltinSource, createProjectSource } from '../../adapters/modules/index.ts'
import {
  type AgentFiles,
  type ConfigEditor,
  createAgentFiles,
  createConfigEditor,
  type Environment,
  type LeftOutUpstream,
  readProjectConfig,
  secretsFileIn,
  type UpstreamsRead,
} from '../../adapters/project-files/index.ts'
import {
  AppError,
  type ConnectionConfig,
  type DependencyOptions,
  Name,
  type Platform,
  type Problem,
  type Settings,
  StdioUpstream,
  type UpstreamConfig,
} from '../../contracts/index.ts'
import type {
  ProgramService,
  RegistryService,
  Secrets,
  Services,
  Source,
  WebService,
} from '../../core/catalogue/index.ts'
import { type Log, memoize } from '../../core/kernel/index.ts'
import { KNOWLEDGE_SOURCE } from '../../core/knowledge/index.ts'
import type { EffectKinds, SqlConnection } from '../../core/operations/index.ts'
import { CAPABILITIES_DIR, PACKAGE_ENTRIES, PAGES, VERSION } from '../package-info.ts'
import { brokenConfig, locateProject, type ProjectPlace } from './locate-project.ts'
import { readStoreChoice, type StoreChoice } from './store-choice.ts'

export interface ProjectOptions extends ProjectPlace {
  readonly env: Environment
  readonly watch: boolean
  readonly log: Log
}

/** The parts of the core that modules may use. */
export interface ModuleServices {
  readonly registry: RegistryService
  readonly platform: Platform
  readonly web: WebService
  readonly programs: ProgramService
}

/** A project folder, read: what the core needs of it. */
export interface Project {
  readonly projectDir: string
  readonly configFile: string | undefined
  readonly dataDir: string
  readonly env: Environment
  /** As it was at start. */
  readonly storeChoice: StoreChoice
  /** As they were at start. */
  readonly settings: Settings
  readonly secrets: Secrets
  readonly sources: readonly Source[]
  readonly agentFiles: AgentFiles
  /** Edits the configuration file and the secrets; `reload` applies the change. */
  readonly configEditor: ConfigEditor
  /**
   * The configured MCP servers, with references resolved. A wrong entry is replaced by one that says so and cannot be run,
   * so that an agent that has it keeps everything else.
   */
  upstreams(): ReadonlyMap<string, UpstreamConfig>
  /** Servers whose entry is wrong and that have no last good one, with the reason. */
  upstreamsLeftOut(): ReadonlyMap<string, LeftOutUpstream>
  /** Every text in their entries that no log may show. */
  upstreamSecrets(): readonly string[]
  dependencyOptions(name: string): DependencyOptions
  allowedHosts(): readonly string[]
  /** The database of this name, in which effects are verified. */
  connection(name: string): ConnectionConfig | undefined
  /** The dependencies that the configuration names. */
  configuredDependencies(): string[]
  /** The problems of the configuration; a broken one keeps its last good version in use. */
  problems(): readonly Problem[]
  /** Connects modules with the core, which is created after the project. */
  attach(services: ModuleServices): void
  /** Reads the configuration again. */
  reload(): Promise<void>
  close(): Promise<void>
}

/** Opens a project folder. Throws `CONFIG_INVALID` with every problem of the configuration. */
export async function openProject(options: ProjectOptions): Promise<Project> {
  const { env, watch, log } = options
  const { projectDir, dataDir, ...located } = await locateProject(options)
  // May be created later; `reload` finds it then.
  let configFile = located.configFile
  const readConfig = () => readProjectConfig(configFile === undefined ? { dataDir, env } : { configFile, dataDir, env })
  let read = await readConfig()
  let upstreams = read.upstreams
  let problems: readonly Problem[] = read.problems
  const { settings } = read
  const isWatching = watch && settings.watchFiles
  let secretsFault: string | undefined
  const secretListeners = new Set<() => void>()
  const secrets: Secrets = {
    get: name => read.secrets.get(name),
    whyUnread: () => secretsFault,
    onChange(listener) {
      secretListeners.add(listener)
      return () => secretListeners.delete(listener)
    },
  }
  let attached: ModuleServices | undefined
  // Modules use these when they are loaded, which is after the core was created.
  const core = (): ModuleServices => {
    if (!attached) throw new AppError('INTERNAL', 'A module was loaded before the core was built.')
    return attached
  }
  const services: Services = {
    paths: { projectDir, dataDir, configFile: located.configFile },
    secrets,
    get registry() {
      return core().registry
    },
    get web() {
      return core().web
    },
    get programs() {
      return core().programs
    },
    workspace: () => core().platform.workspace(),
    memory: () => core().platform.memory(),
    inbox: () => core().platform.inbox(),
    history: () => core().platform.history(),
    people: () => core().platform.people(),
    attachments: () => core().platform.attachments(),
    delegation: () => core().platform.delegation(),
  }
  const project: ClosableSource = createProjectSource({
    dir: join(projectDir, 'capabilities'),
    services,
    packageEntries: PACKAGE_ENTRIES,
    watch: isWatching,
    log,
  })
  const knowledge = createKnowledgeSource({
    id: KNOWLEDGE_SOURCE,
    kind: 'declaration',
    dir: join(projectDir, 'knowledge'),
    watch: isWatching,
    log,
  })
  const builtin = createBuiltinSource({ dir: fileURLToPath(CAPABILITIES_DIR), services, version: VERSION })
  const files = { projectDir, env, secrets, watch: isWatching, log }
  const agentFiles = createAgentFiles(configFile === undefined ? files : { ...files, configFile })
  return {
    projectDir,
    dataDir,
    env,
    storeChoice: readStoreChoice(env),
    get configFile() {
      return configFile
    },
    settings,
    secrets,
    sources: [withPages(builtin, log), project, knowledge],
    agentFiles,
    configEditor: createConfigEditor({ projectDir, dataDir, configFile: () => configFile }),
    upstreams: () => withDisabledConfigs(upstreams),
    upstreamsLeftOut: () => upstreams.leftOut,
    upstreamSecrets: () => upstreams.secrets,
    dependencyOptions: name => read.config.dependencies[name] ?? {},
    allowedHosts: () => read.config.allowedHosts,
    connection: name => (Object.hasOwn(read.config.connections, name) ? read.config.connections[name] : undefined),
    configuredDependencies: () => Object.keys(read.config.dependencies),
    problems: () => problems,
    attach(given) {
      attached = given
    },
    async reload() {
      try {
        configFile ??= await configFileIn(projectDir)
        read = await readConfig()
        upstreams = withLastGood(upstreams, read.upstreams)
        problems = [...read.problems, ...restartNeeded(settings, read.settings, configFile)]
      } catch (error) {
        problems = brokenConfig(error, configFile)
      }
      secretsFault = faultOfSecrets(problems, dataDir)
      for (const listener of secretListeners) listener()
    },
    async close() {
      await Promise.all([project.close(), knowledge.close(), agentFiles.close()])
    },
  }
}

function faultOfSecrets(problems: readonly Problem[], dataDir: string): string | undefined {
  const file = secretsFileIn(dataDir)
  const found = problems.find(({ severity, where }) => severity === 'error' && where?.startsWith(file))
  return found?.message
}

async function configFileIn(projectDir: string): Promise<string | undefined> {
  const found = await locateProject({ from: projectDir })
  return found.projectDir === projectDir ? found.configFile : undefined
}

function withDisabledConfigs({ configs, leftOut }: UpstreamsRead): ReadonlyMap<string, UpstreamConfig> {
  const named = [...leftOut].filter(([name]) => Name.safeParse(name).success)
  const disabled = named.map(([name, wrong]) => [name, disabledConfigFor(wrong)] as const)
  return disabled.length === 0 ? configs : new Map([...configs, ...disabled])
}

/** A mistake in the entry of a running server must not stop it: the last good entry stays until it is fixed or removed. */
function withLastGood(last: UpstreamsRead, next: UpstreamsRead): UpstreamsRead {
  const kept = [...next.leftOut.keys()].flatMap(name => {
    const config = last.configs.get(name)
    return config ? [[name, config] as const] : []
  })
  if (kept.length === 0) return next
  const configs = new Map([...next.configs, ...kept])
  const leftOut = new Map([...next.leftOut].filter(([name]) => !configs.has(name)))
  return { configs, leftOut, secrets: [...new Set([...next.secrets, ...last.secrets])] }
}

function restartNeeded(running: Settings, written: Settings, file: string | undefined): Problem[] {
  const changed = (Object.keys(written) as (keyof Settings)[]).filter(key => written[key] !== running[key])
  return changed.map(key => ({
    severity: 'warning',
    code: 'CONFIG_INVALID',
    where: file ?? 'environment',
    field: `settings.${key}`,
    message: `Setting "${key}" was changed; it applies from the next start.`,
    fix: 'Restart `quartermaster up`.',
  }))
}

const PLACE = { id: 'pages', kind: 'builtin' } as const

/** The pages of the product: packed by the build, files in the sources. */
export function createPagesSource(log: Log): Source {
  if ('file' in PAGES) return createPackedSource({ ...PLACE, file: PAGES.file })
  return createKnowledgeSource({ ...PLACE, dir: fileURLToPath(PAGES.dir), prefix: PAGES_PREFIX, watch: false, log })
}

/** The built-in capabilities and their pages, as one source: pages are read sooner than modules, and are useless alone. */
function withPages(builtin: Source, log: Log): Source {
  const sources = [builtin, createPagesSource(log)]
  return {
    id: builtin.id,
    kind: builtin.kind,
    load: async signal => (await Promise.all(sources.map(source => source.load(signal)))).flat(),
  }
}

/** The prefix of their paths, so that no page of a project is mistaken for one of the product. */
export const PAGES_PREFIX = 'quartermaster/'

/** The text for people wherever an upstream with a wrong entry is missing. */
export function wrongEntryText({ reason }: LeftOutUpstream): string {
  return `Its entry in the configuration is wrong: ${reason} \`quartermaster doctor\` says where.`
}

/** Replaces a wrong entry. It can never be run. */
function disabledConfigFor(leftOut: LeftOutUpstream): UpstreamConfig {
  const wrong = wrongEntryText(leftOut)
  const config = StdioUpstream.parse({ command: 'none', enabled: false, short: wrong.slice(0, LONGEST_SHORT) })
  return { ...config, command: NO_PROGRAM, wrong }
}

/** No program can have this name, so that code which overlooks `enabled: false` finds nothing to start. */
const NO_PROGRAM = '\0'
const LONGEST_SHORT = 1024

/** The built-in kinds of effects, for the files and databases of a project. */
export function effectKindsOf(project: Project): EffectKinds {
  const { projectDir, dataDir } = project
  // Loaded on demand: most commands need no database.
  const readers = memoize(async () => {
    const { createSqliteReaders } = await import('../../adapters/storage-sqlite/index.ts')
    return createSqliteReaders()
  })
  const sqliteFile = (file: string): SqlConnection => ({
    query: async (...question) => (await readers()).open(file).query(...question),
  })
  return createEffectKinds({
    projectDir,
    dataDir,
    connections: {
      get(name) {
        const config = project.connection(name)
        return config && sqliteFile(resolve(projectDir, config.sqlite))
      },
    },
  })
}
