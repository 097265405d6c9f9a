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
import { agentReader, type Docs, type Reader } from '../knowledge/index.ts'
import { withDirections } from './directions.ts'
import { companions, type GatewayConfig, isGateway, replacements } from './gateway-view.ts'
import { type Grant, type PromptGrant, type Resolution, type ResourceGrant } from './resolve-capabilities.ts'
import { findResource, renderView, unseenUnit, type View, withheldTool } from './view.ts'

/**
 * The place from which calls are made: who the caller is and what they have. It is handed out by the core and cannot be
 * made up, and it always looks at the present: a grant that was taken away is gone with the next look.
 */
export interface AgentSession {
  readonly caller: Caller
  /** What the owner wrote down about the agent. */
  agent(): AgentConfig | undefined
  /** A tool it has, working or not; in the gateway view also one of those that stand for them. */
  grant(tool: string): Grant | undefined
  /** A tool that it was given and that is not offered now, by the name it would be called by, with the reason. */
  withheld(tool: string): ResolutionEntry | undefined
  /** The unit that may have a tool of this name for the agent and whose tools are not known yet. */
  unseen(tool: string): string | undefined
  /** A prompt it has, working or not. */
  prompt(name: string): PromptGrant | undefined
  /** The resource it has at this address, working or not, and what stands for its template's names. */
  resource(
    uri: string,
  ): { readonly grant: ResourceGrant; readonly params: Readonly<Record<string, string>> } | undefined
  /** The resource it has with exactly this template, working or not. */
  resourceTemplate(uriTemplate: string): ResourceGrant | undefined
  view(): View
  /** Who it is for whatever is written down. */
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
  /** Whatever the agent's file says: a run's servers show the tools of one capability each, and those are few. */
  readonly isDirect?: boolean
  /** Whether it has no part in the project's own knowledge. */
  readonly isRemote?: boolean
  agent(): AgentConfig | undefined
  /** Resolves again; called at most once per generation and `key`. */
  resolve(): Resolution
  /** Another object when the agent's configuration is another. */
  key(): unknown
}

interface Resolved {
  readonly generation: Generation
  readonly key: unknown
  readonly resolution: Resolution
  /** What stands for the grants, in the gateway view. */
  readonly gateway: ReadonlyMap<string, Grant> | undefined
  /** What is shown beside the grants, in the direct view. */
  readonly companions: ReadonlyMap<string, Grant> | undefined
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
    // Asked by those that are made with it, so only once all of them are there.
    const isOffered = (tool: string): boolean =>
      grants.has(tool) || gateway?.has(tool) === true || beside?.has(tool) === true
    // What its capability left out is not for it; what is held back comes again.
    const heldBack = withheld.filter(({ state }) => state !== 'skipped')
    const held = new Set(heldBack.map(({ tool, calledAs = tool }) => calledAs))
    const has = (tool: string): boolean => isOffered(tool) || held.has(tool)
    const config: GatewayConfig = { grants, withheld, generation, health, docs, isOffered, has, isRemote }
    const gateway = isBehindGateway ? replacements(config) : undefined
    const beside = gateway ? undefined : companions(config)
    return {
      generation,
      key,
      resolution: options.isDirect
        ? resolution
        : withDirections(resolution, { generation, digest, reader: { has, isRemote } }),
      gateway,
      companions: beside,
      config,
    }
  }

  return {
    caller: options.caller,
    callbacks: options.callbacks,
    agent: () => options.agent(),
    grant(tool) {
      const { resolution, gateway, companions: beside } = resolved()
      return resolution.grants.get(tool) ?? gateway?.get(tool) ?? beside?.get(tool)
    },
    withheld(tool) {
      const { resolution, generation } = resolved()
      return withheldTool(tool, { ...resolution, generation, health })
    },
    unseen(tool) {
      const { resolution, generation } = resolved()
      return unseenUnit(tool, { ...resolution, generation, health })
    },
    prompt: name => resolved().resolution.prompts.get(name),
    resource: uri => findResource(resolved().resolution.resources, uri),
    resourceTemplate(uriTemplate) {
      const found = resolved().resolution.resources.get(uriTemplate)
      return found?.resource.uriTemplate === uriTemplate ? found : undefined
    },
    view() {
      const { resolution, generation, gateway, companions: beside } = resolved()
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

/** Everything the agent of this session can do now, in words. */
export function agentViewOf(session: AgentSession): AgentView {
  return { agent: session.caller.name, ...session.view().facts() }
}
