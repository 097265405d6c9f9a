import { createSchemaCompiler } from '../adapters/json-schema/index.ts'
import { createMcpServers, type McpServers } from '../adapters/mcp-server/index.ts'
import { createIds, sha256, silentLog } from '../adapters/system/index.ts'
import { buildCore, type Core } from '../app/bootstrap/build-core.ts'
import {
  type AgentConfig,
  type AuditEntry,
  type CallAnswer,
  DEFAULT_SETTINGS,
  type DependencyOptions,
  type Problem,
  type SettingsInput,
} from '../contracts/index.ts'
import type { Mount, RemoteAgents } from '../core/agents/index.ts'
import {
  type AnyPrompt,
  type AnyResource,
  type AnyTool,
  type Capability,
  type DependencyDefinition,
  defineCapability,
  defineDependency,
  definePrompt,
  defineResource,
  defineTool,
  type Injection,
  type NameClaim,
  type Op,
  type ProbeVerdict,
  type Source,
  type SourceKind,
  type SourceUnit,
  type WrittenUnit,
} from '../core/catalogue/index.ts'
import type { Ids, Random } from '../core/kernel/index.ts'
import type { CallRequest, EffectKinds, NotifyResult, StorageAccess } from '../core/operations/index.ts'
import { createFakeClock, type FakeClock } from './fake-clock.ts'
import { memoryStorage } from './memory-store.ts'

/** A whole core on a clock that tests move, with definitions and agents that tests edit. */
export interface Hub extends Core {
  readonly clock: FakeClock
  /** Writes or replaces a unit, as saving a file would. */
  write(unit: string, definitions: UnitContents, problems?: readonly Problem[]): void
  /** Lets a slow source answer. */
  hurry(): void
  /** Makes a unit unreadable, as a syntax error would. */
  spoil(unit: string, message?: string): void
  remove(unit: string): void
  /** Tells the catalogue that something changed, as a file watcher would. */
  touch(): void
  setAgents(agents: Record<string, AgentConfig>): Promise<void>
  callAs(agent: string, tool: string, input?: unknown, options?: Partial<CallRequest>): Promise<CallAnswer>
  toolNamesFor(agent: string): string[]
  readonly audit: AuditEntry[]
  readonly loads: () => number
  /** The servers in front, over the same core. */
  readonly mcp: McpServers
}

export interface UnitContents {
  capabilities?: readonly Capability[]
  dependencies?: readonly DependencyDefinition[]
  injections?: readonly Injection[]
  written?: readonly WrittenUnit[]
  ops?: readonly Op[]
  /** Of an upstream. */
  claims?: readonly NameClaim[]
}

export interface HubOptions {
  units?: Record<string, UnitContents>
  /** What comes with the product, beside the units. */
  builtin?: Record<string, UnitContents>
  agents?: Record<string, AgentConfig>
  settings?: SettingsInput
  dependencyOptions?: Record<string, DependencyOptions>
  secrets?: Record<string, string>
  /** Where calls are written down; in memory when absent. */
  storage?: StorageAccess
  /** The source answers its first load only when told to hurry. */
  slow?: boolean
  /** What brings the definitions; `code` when absent. */
  kind?: SourceKind
  /** Connects to a unit that has not been listed yet. */
  connectUnseen?(unit: string, withinMs: number): Promise<void>
  /** Has the servers mounted that capabilities name. */
  mount?: Mount
  /** Kinds of effects that can be verified; none when absent. */
  effectKinds?: EffectKinds
  /** Receives results without a waiting caller. */
  tellEnd?: NotifyResult
  /** Workspaces that run elsewhere; none when absent. */
  remoteAgents?: RemoteAgents
  /** Told of clients that have gone. */
  clientGone?: (client: string) => Promise<void>
  /** What its leases are held under; made up when absent. */
  owner?: string
  /** Shared by several; one of its own when absent. */
  clock?: FakeClock
  ids?: Ids
  random?: Random
}

export async function createHub(options: HubOptions = {}): Promise<Hub> {
  const clock = options.clock ?? createFakeClock()
  const ids = options.ids ?? createIds()
  const units = new Map<string, SourceUnit>()
  const audit: AuditEntry[] = []
  const dependencyOptions = new Map(Object.entries(options.dependencyOptions ?? {}))
  let agents = options.agents ?? {}
  let edits = 0
  let loads = 0
  let notify = () => {}
  let mcp: McpServers | undefined
  let release = () => {}
  const gate = new Promise<void>(resolve => {
    release = resolve
  })
  const source: Source = {
    id: 'project',
    kind: options.kind ?? 'code',
    async load() {
      loads++
      if (options.slow) await gate
      await clock.breathe()
      return [...units.values()]
    },
    onChange(listener) {
      notify = listener
      return () => {}
    },
  }
  const settings = { ...DEFAULT_SETTINGS, ...withoutUndefined(options.settings ?? {}) }
  const core = buildCore({
    clock,
    ids,
    random: options.random ?? (() => 0.5),
    digest: sha256,
    log: silentLog,
    compiler: createSchemaCompiler(),
    sources: options.builtin ? [builtinSource(options.builtin), source] : [source],
    agentStore: { load: async () => Object.entries(agents).map(([name, config]) => entryOf(name, config)) },
    secrets: { get: name => options.secrets?.[name] },
    patienceMs: 1_000,
    settings: { ...DEFAULT_SETTINGS, ...withoutUndefined(options.settings ?? {}) },
    storage: options.storage ?? memoryStorage(),
    owner: options.owner,
    effectKinds: options.effectKinds,
    connectUnseen: options.connectUnseen,
    mount: options.mount,
    tellEnd: options.tellEnd,
    remoteAgents: options.remoteAgents,
    dependencyOptions: name => dependencyOptions.get(name) ?? {},
    folders: () => ({ agentDir: '/project/agents', workspaceDir: '/project' }),
    serverFactory: parts => {
      const { clientGone } = options
      const told = clientGone && { clientGone }
      mcp = createMcpServers({ ...parts, ...told, clock, ids, log: silentLog, settings, version: '0.0.0' })
      return mcp.inProcess
    },
  })
  core.emitter.on('call.settled', entry => audit.push(entry))
  const hub: Hub = {
    ...core,
    clock,
    audit,
    loads: () => loads,
    get mcp() {
      if (!mcp) throw new Error('The core made no servers.')
      return mcp
    },
    hurry: () => release(),
    write(unit, { claims = [], ...contents }, problems = []) {
      const definitions = { ...NOTHING, ...contents }
      const hash = `${unit}#${edits++}`
      units.set(unit, { id: unit, hash, sources: hash, definitions, problems, claims })
    },
    spoil(unit, message = 'Unexpected token') {
      const problem: Problem = { severity: 'error', code: 'DEFINITION_INVALID', where: unit, message }
      units.set(unit, { id: unit, broken: [problem] })
    },
    remove: unit => void units.delete(unit),
    touch: () => notify(),
    async setAgents(next) {
      agents = next
      await core.agents.reload()
    },
    callAs: (agent, tool, input = {}, more = {}) =>
      core.calls.call({ session: core.agents.session(agent), tool, input, ...more }),
    toolNamesFor: agent =>
      core.agents
        .session(agent)
        .view()
        .tools.map(({ tool }) => tool.name),
  }
  for (const [unit, contents] of Object.entries(options.units ?? {})) hub.write(unit, contents)
  await core.agents.reload()
  const built = core.catalogue.reload()
  if (options.slow) await clock.advance(1_000)
  await built
  return hub
}

function builtinSource(contents: Record<string, UnitContents>): Source {
  const units = Object.entries(contents).map(([id, one]) => ({ id, hash: id, definitions: { ...NOTHING, ...one } }))
  return { id: 'builtin', kind: 'builtin', load: async () => units }
}

const NOTHING = { capabilities: [], dependencies: [], injections: [] }

function entryOf(name: string, config: AgentConfig) {
  return { name, file: `agents/${name}.json`, config, hash: sha256(JSON.stringify(config)), problems: [] }
}

function withoutUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as never
}

/** The state of a dependency that a test switches; its probe counts how often it was asked. */
export interface FakeService {
  verdict: ProbeVerdict | 'throws' | 'hangs'
  probes: number
  /** The probe answers only after this. */
  wait?: Promise<void>
  readonly dependency: DependencyDefinition
}

export function fakeService(
  name: string,
  verdict: FakeService['verdict'] = { up: true },
  more: Partial<DependencyDefinition> = {},
): FakeService {
  const service: FakeService = {
    verdict,
    probes: 0,
    dependency: defineDependency({
      name,
      probe: {
        describe: { kind: 'fake', name },
        async run() {
          service.probes++
          await service.wait
          if (service.verdict === 'throws') throw new Error('socket hang up')
          if (service.verdict === 'hangs') return new Promise(() => {})
          return service.verdict
        },
      },
      ...more,
    }),
  }
  return service
}

export const UP: ProbeVerdict = { up: true }
export const DOWN: ProbeVerdict = { up: false, reason: 'connection refused' }

/** A read-only tool without parameters that answers its name. */
export function simpleTool(name: string, more: Partial<AnyTool> = {}): AnyTool & { title: string } {
  return defineTool({
    name,
    short: `Answers ${name}.`,
    input: { type: 'object' },
    mutates: false,
    handler: () => name,
    ...more,
  } as never)
}

/** A prompt without arguments that answers its name. */
export function simplePrompt(name: string, more: Partial<AnyPrompt> = {}): AnyPrompt {
  return definePrompt({ name, short: `Asks for ${name}.`, render: () => name, ...more } as never)
}

/** A resource at this address that holds the address; its name is what comes last in it. */
export function simpleResource(uri: string, more: Partial<AnyResource> = {}): AnyResource {
  return defineResource({ name: uri.split('/').at(-1) ?? uri, uri, read: () => uri, ...more } as never)
}

export function simpleCapability(
  key: string,
  tools: readonly AnyTool[],
  more: Partial<Parameters<typeof defineCapability>[0]> = {},
): Capability {
  return defineCapability({ key, short: `All of ${key}.`, tools, ...more })
}

/** What a promise was rejected with, taken at once so that nothing goes unhandled while a test moves the clock. */
export function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => {
      throw new Error('It did not fail.')
    },
    (error: unknown) => error,
  )
}
