import {
  type AgentConfig,
  type AgentView,
  type Caller,
  type ResolutionEntry,
  type RunCallbacks,
  type Settings,
} from '../../contracts/index.ts'
import { allowableAlways, type Catalogue, type Generation } from '../catalogue/index.ts'
import { type Health } from '../health/index.ts'
import { type Digest } from '../kernel/index.ts'
import { agentReader, type Docs, type Reader, type UnitReader } from '../knowledge/index.ts'
import { withDirections } from './directions.ts'
import { type Grant, type PromptGrant, type Resolution, type ResourceGrant } from './resolve-capabilities.ts'
import { findResource, renderView, unlistedUnit, type View, withheldTool } from './view.ts'

/**
 * A caller and what it may use. Only the core creates sessions, and each access checks the present state: a revoked grant is gone
 * at the next access.
 */
export interface AgentSession {
  readonly caller: Caller
  /** The agent's configuration file. */
  agent(): AgentConfig | undefined
  /** A granted tool, available or not, including gateway tools. */
  grant(tool: string): Grant | undefined
  /** A granted tool that is not offered now, by the name it would be called by, with the reason. */
  withheld(tool: string): ResolutionEntry | undefined
  /** The unit that may have a tool of this name but has not been listed yet. */
  unseen(tool: string): string | undefined
  prompt(name: string): PromptGrant | undefined
  /** The resource at this URI, available or not, and the values of its template. */
  resource(
    uri: string,
  ): { readonly grant: ResourceGrant; readonly params: Readonly<Record<string, string>> } | undefined
  /** The resource with exactly this template, available or not. */
  resourceTemplate(uriTemplate: string): ResourceGrant | undefined
  view(): View
  reader(): Reader
  readonly callbacks: RunCallbacks | undefined
}

export interface AgentSessionDeps {
  readonly catalogue: Pick<Catalogue, 'current'>
  readonly health: Pick<Health, 'version' | 'availability' | 'missing'>
  readonly digest: Digest
  readonly settings: Pick<Settings, 'gatewayViewOver'>
  readonly docs: Docs
}

interface AgentSessionOptions {
  readonly caller: Caller
  readonly callbacks?: RunCallbacks | undefined
  /** Always the direct view: a run's servers show the few tools of one capability each. */
  readonly isDirect?: boolean
  /** Whether it has no access to the project's own knowledge. */
  readonly isRemote?: boolean
  agent(): AgentConfig | undefined
  /** Called at most once per generation and `key`. */
  resolve(): Resolution
  /** A new object whenever the agent's configuration changes. */
  key(): unknown
}

interface Resolved {
  readonly generation: Generation
  readonly key: unknown
  readonly resolution: Resolution
  readonly gateway: ReadonlyMap<string, Grant> | undefined
  readonly companionTools: ReadonlyMap<string, Grant> | undefined
  readonly config: GatewayConfig
}

export function createAgentSession(
  options: AgentSessionOptions,
  { catalogue, health, digest, settings, docs }: AgentSessionDeps,
): AgentSession {
  let known: Resolved | undefined
  let rendered: { resolution: Resolution; health: number; view: View } | undefined

  function resolved(): Resolved {
    const generation = catalogue.current()
    const key = options.key()
    if (known?.generation !== generation || known.key !== key) known = resolve(generation, key)
    return known
  }

  function resolve(generation: Generation, key: unknown): Resolved {
    const resolution = options.resolve()
    const { grants } = resolution
    const withheld = [...resolution.withheld, ...resolution.refused]
    const isBehindGateway = !options.isDirect && isGateway(options.agent(), grants, settings)
    const isRemote = options.isRemote === true
    // Called only once `gateway` and `beside` are set.
    const isOffered = (tool: string): boolean =>
      grants.has(tool) || gateway?.has(tool) === true || beside?.has(tool) === true
    // Skipped capabilities do not come back; withheld tools may.
    const heldBack = withheld.filter(({ state }) => state !== 'skipped')
    const held = new Set(heldBack.map(({ tool, calledAs = tool }) => calledAs))
    const has = (tool: string): boolean => isOffered(tool) || held.has(tool)
    const config: GatewayConfig = { grants, withheld, generation, health, docs, isOffered, has, isRemote }
    const gateway = isBehindGateway ? gatewayTools(config) : undefined
    const beside = gateway ? undefined : companions(config)
    return {
      generation,
      key,
      resolution: options.isDirect
        ? resolution
        : withDirections(resolution, { generation, digest, reader: { has, isRemote } }),
      gateway,
      companionTools: beside,
      config,
    }
  }

  return {
    caller: options.caller,
    callbacks: options.callbacks,
    agent: () => options.agent(),
    grant(tool) {
      const { resolution, gateway, companionTools: beside } = resolved()
      return resolution.grants.get(tool) ?? gateway?.get(tool) ?? beside?.get(tool)
    },
    withheld(tool) {
      const { resolution, generation } = resolved()
      return withheldTool(tool, { ...resolution, generation, health })
    },
    unseen(tool) {
      const { resolution, generation } = resolved()
      return unlistedUnit(tool, { ...resolution, generation, health })
    },
    prompt: name => resolved().resolution.prompts.get(name),
    resource: uri => findResource(resolved().resolution.resources, uri),
    resourceTemplate(uriTemplate) {
      const found = resolved().resolution.resources.get(uriTemplate)
      return found?.resource.uriTemplate === uriTemplate ? found : undefined
    },
    view() {
      const { resolution, generation, gateway, companionTools: beside } = resolved()
      const version = health.version()
      if (rendered?.resolution !== resolution || rendered.health !== version) {
        const allowed = allowableAlways(options.agent()?.consent?.allow ?? [], catalogue.current().consentOperations)
        rendered = {
          resolution,
          health: version,
          view: renderView({ resolution, generation, gateway, beside, health, digest, allowed }),
        }
      }
      return rendered.view
    },
    reader: () => agentReader(resolved().config),
  }
}

/** Describes everything the agent can do now. */
export function agentViewOf(session: AgentSession): AgentView {
  return { agent: session.caller.name, ...session.view().facts() }
}

/**
 * Configuration of the gateway tools' handlers: what one session has. It travels with that session's grant, so sessions with equal
 * names cannot be confused.
 */
export interface GatewayConfig extends UnitReader {
  /** Granted tools, available or not, in order of definition. */
  readonly grants: Resolution['grants']
  /** Requested tools it did not get, with the reason. */
  readonly withheld: Resolution['withheld']
  /** Whether the agent may call a tool, available or not, including gateway and companion tools. */
  isOffered(tool: string): boolean
  /** All definitions; only granted ones may be shown. */
  readonly generation: Generation
  readonly health: Pick<Health, 'availability' | 'missing'>
  /** All documents; only visible ones may be shown. */
  readonly docs: Docs
}

/**
 * Whether an agent sees its tools through the gateway. Counts granted tools rather than available ones, so that an outage does not
 * switch the view.
 */
function isGateway(
  agent: AgentConfig | undefined,
  grants: Resolution['grants'],
  settings: Pick<Settings, 'gatewayViewOver'>,
): boolean {
  return agent?.view === undefined ? grants.size > settings.gatewayViewOver : agent.view === 'gateway'
}

/** The gateway tools that replace all others; `undefined` if no source defines any: then the agent sees its own tools. */
function gatewayTools(config: GatewayConfig): ReadonlyMap<string, Grant> | undefined {
  return injected(config, 'gateway')
}

/** Tools added beside an agent's own: status tools if its calls may wait, and documentation tools if the project has knowledge. */
export function companions(config: GatewayConfig): ReadonlyMap<string, Grant> | undefined {
  const { generation, isRemote } = config
  const mayWait = [...config.grants.values()].some(({ tool }) => tool.consent.length > 0 || tool.retry !== 'manual')
  // Built-in knowledge does not count: it must not change lists of tools.
  const hasKnowledge = !isRemote && [...generation.knowledge.values()].some(unit => !unit.isBuiltin)
  const waiting = mayWait ? injected(config, 'waiting') : undefined
  const documented = hasKnowledge ? injected(config, 'documented') : undefined
  return waiting && documented ? new Map([...documented, ...waiting]) : (waiting ?? documented)
}

function injected(
  config: GatewayConfig,
  mode: 'gateway' | 'waiting' | 'documented',
): ReadonlyMap<string, Grant> | undefined {
  const grants = config.generation.injections
    .filter(({ injection }) => injection.modes.includes(mode))
    .flatMap(({ injection, tools }) => tools.map(tool => ({ tool, capability: injection.key, config })))
  return grants.length === 0 ? undefined : new Map(grants.map(grant => [grant.tool.name, grant]))
}
