import type { AgentConfig, Settings } from '../../contracts/index.ts'
import type { Generation } from '../catalogue/index.ts'
import type { Health } from '../health/index.ts'
import type { Docs, UnitReader } from '../knowledge/index.ts'
import type { Grant, Resolution } from './resolve-capabilities.ts'

/**
 * What the handlers of the gateway view get as their configuration: what one seat has. It comes with the grant of that
 * seat, so there is nothing to look up and nothing to mix up, whatever two seats are called.
 */
export interface GatewayConfig extends UnitReader {
  /** What the agent has, working or not, in order of definition. */
  readonly grants: Resolution['grants']
  /** What it asked for and did not get, with the reason. */
  readonly withheld: Resolution['withheld']
  /** Whether it can call a tool, working or not; also one that stands for others or comes beside them. */
  isOffered(tool: string): boolean
  /** All definitions; only those among the grants may be shown. */
  readonly generation: Generation
  readonly health: Pick<Health, 'availability' | 'missing'>
  /** All there is to read, for whoever may see it. */
  readonly docs: Docs
}

/** Whether an agent sees its tools through the gateway. Counts what it was granted, so that an outage changes nothing. */
export function isGateway(
  agent: AgentConfig | undefined,
  grants: Resolution['grants'],
  settings: Pick<Settings, 'gatewayViewOver'>,
): boolean {
  return agent?.view === undefined ? grants.size > settings.gatewayViewOver : agent.view === 'gateway'
}

/** The tools that stand for all others of a seat, or nothing where no source brings any: then it sees its own. */
export function standIns(config: GatewayConfig): ReadonlyMap<string, Grant> | undefined {
  return injected(config, 'gateway')
}

/**
 * What comes beside an agent's tools. With those whose calls may have to wait: whoever has a handle must be able to ask about
 * it. With knowledge of the project's own: whoever wrote it meant it to be read.
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
