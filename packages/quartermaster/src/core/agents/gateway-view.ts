import type { AgentConfig, Settings } from '../../contracts/index.ts'
import type { Generation } from '../catalogue/index.ts'
import type { Health } from '../health/index.ts'
import type { Docs, UnitReader } from '../knowledge/index.ts'
import type { Grant, Resolution } from './resolve-capabilities.ts'

/**
 * The configuration of the gateway view's handlers: what one session has. It comes with that session's grant, so sessions with
 * equal names cannot be mixed up.
 */
export interface GatewayConfig extends UnitReader {
  /** What the agent has, working or not, in order of definition. */
  readonly grants: Resolution['grants']
  /** What it asked for and did not get, with the reason. */
  readonly withheld: Resolution['withheld']
  /** Whether the agent can call a tool, working or not; gateway tools and companions included. */
  isOffered(tool: string): boolean
  /** All definitions; only those among the grants may be shown. */
  readonly generation: Generation
  readonly health: Pick<Health, 'availability' | 'missing'>
  /** All documents, for readers who may see them. */
  readonly docs: Docs
}

/** Whether an agent sees its tools through the gateway. Uses the number of granted tools, so that an outage changes nothing. */
export function isGateway(
  agent: AgentConfig | undefined,
  grants: Resolution['grants'],
  settings: Pick<Settings, 'gatewayViewOver'>,
): boolean {
  return agent?.view === undefined ? grants.size > settings.gatewayViewOver : agent.view === 'gateway'
}

/** The gateway tools that replace all others of a session, or nothing where no source brings any: then the agent sees its own tools. */
export function replacements(config: GatewayConfig): ReadonlyMap<string, Grant> | undefined {
  return injected(config, 'gateway')
}

/**
 * Tools added beside an agent's own. With tools whose calls may wait: an agent with a handle must be able to ask about it. With
 * knowledge of the project: its author meant it to be read.
 */
export function companions(config: GatewayConfig): ReadonlyMap<string, Grant> | undefined {
  const waiting = [...config.grants.values()].some(mayWait) ? injected(config, 'waiting') : undefined
  const documented = hasOwnKnowledge(config) ? injected(config, 'documented') : undefined
  return waiting && documented ? new Map([...documented, ...waiting]) : (waiting ?? documented)
}

/** What came with the product does not count: it changes no list of tools by being there. */
function hasOwnKnowledge({ generation, isRemote }: GatewayConfig): boolean {
  return !isRemote && [...generation.knowledge.values()].some(unit => !unit.isBuiltin)
}

function mayWait({ tool: { consent, retry } }: Grant): boolean {
  return consent.length > 0 || retry !== 'manual'
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
