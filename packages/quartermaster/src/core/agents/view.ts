import type {
  AgentView,
  MissingDependency,
  ResolutionEntry,
  ToolDetail,
  ToolSummary,
  ViewKind,
} from '../../contracts/index.ts'
import { type Generation, isDeprecated, type Tool } from '../catalogue/index.ts'
import { type Health, missingInWords } from '../health/index.ts'
import type { Digest } from '../kernel/index.ts'
import type { Grant, Resolution } from './grants.ts'
import { type ReadingsView, renderReadings } from './readings-view.ts'
import { listTools, toolDetail } from './tool-report.ts'
import { viewFacts } from './view-facts.ts'

/** What one agent can see now. */
export interface View extends ReadingsView {
  /** Changes whenever a client that listed the tools should list them again. */
  readonly version: string
  readonly kind: ViewKind
  /** What is shown to whoever lists: the tools themselves, or those that stand for them in the gateway view. */
  readonly presented: readonly Grant[]
  /** Granted and callable, in order of definition, deprecated ones last; a recovering one is among them. */
  readonly tools: readonly Grant[]
  /** Granted, but not working now. */
  readonly unavailable: readonly { readonly grant: Grant; readonly missing: readonly MissingDependency[] }[]
  /** Capabilities and tools that the agent's file asks for wrongly, with the reason. */
  readonly refused: Resolution['refused']
  /** Every tool that was asked for, and what became of it. */
  report(): ResolutionEntry[]
  /** All of it in words, for whoever explains to the agent what it has. */
  facts(): Omit<AgentView, 'agent'>
  /** What was granted, working or not, and behind it what comes along, each with its present state. */
  list(): ToolSummary[]
  /** Everything about one that the agent has. */
  detail(tool: Tool): ToolDetail
}

/** What a view is rendered from. */
export interface ViewParts {
  readonly resolution: Resolution
  readonly generation: Generation
  /** What stands for the grants, in the gateway view. */
  readonly gateway: ReadonlyMap<string, Grant> | undefined
  /** What is shown beside the grants, in the direct view. */
  readonly beside: ReadonlyMap<string, Grant> | undefined
  readonly health: Pick<Health, 'availability' | 'missing'>
  readonly digest: Digest
  /** Consent operations the owner allows for good. */
  readonly allowed: readonly string[]
}

/** Lays health over a resolution. */
export function renderView({ resolution, generation, gateway, beside, health, digest, allowed }: ViewParts): View {
  const { active: tools, disabled: unavailable } = divide(resolution.grants.values(), health)
  const presented = gateway ? divide(gateway.values(), health).active : withCompanions(tools, { beside, resolution })
  const kind = gateway ? 'gateway' : 'direct'
  return {
    // What is behind the gateway may come and go: whoever listed its tools has nothing to list again.
    version: versionOf(presented, gateway ? [] : unavailable, digest),
    kind,
    presented,
    tools,
    refused: resolution.refused,
    ...renderReadings(resolution, { health, digest }),
    // Reasons are for those who ask: most readers of a view only list and call.
    get unavailable() {
      return unavailable.map(grant => ({ grant, missing: health.missing(grant.tool) }))
    },
    report() {
      const granted = tools.map(grant => grantedEntry(grant, allowed))
      const missing = unavailable.map(grant => unavailableEntry(grant, health.missing(grant.tool)))
      return [...granted, ...missing, ...resolution.withheld, ...resolution.refused]
    },
    facts: () => viewFacts({ kind, presented, ...resolution, generation, health, allowed }),
    list() {
      const along = presented.filter(({ tool }) => !resolution.grants.has(tool.name))
      return [
        ...listTools(toolsOf([...tools, ...unavailable]), health),
        ...listTools(toolsOf(along), health).map(one => ({ ...one, comesAlong: true as const })),
      ]
    },
    detail: tool => toolDetail(tool, health),
  }
}

function toolsOf(grants: readonly Grant[]): Tool[] {
  return grants.map(({ tool }) => tool)
}

/** An agent that has a tool of the same name keeps its own. */
function withCompanions(tools: readonly Grant[], { beside, resolution }: Pick<ViewParts, 'beside' | 'resolution'>) {
  const more = [...(beside?.values() ?? [])].filter(({ tool }) => !resolution.grants.has(tool.name))
  return more.length > 0 ? [...tools, ...more] : tools
}

function divide(grants: Iterable<Grant>, health: ViewParts['health']): { active: Grant[]; disabled: Grant[] } {
  const active: Grant[] = []
  const disabled: Grant[] = []
  for (const grant of grants) {
    if (health.availability(grant.tool).active) active.push(grant)
    else disabled.push(grant)
  }
  return { active: deprecatedLast(active), disabled }
}

function deprecatedLast(grants: Grant[]): Grant[] {
  const last = grants.filter(({ tool }) => isDeprecated(tool))
  return last.length === 0 ? grants : [...grants.filter(({ tool }) => !isDeprecated(tool)), ...last]
}

function versionOf(presented: readonly Grant[], unavailable: readonly Grant[], digest: Digest): string {
  const names = unavailable.map(({ tool }) => tool.name)
  return digest([...presented.map(({ tool }) => tool.hash), '', ...names].join('\n')).slice(0, 16)
}

function grantedEntry({ tool, capability }: Grant, allowed: readonly string[]): ResolutionEntry {
  const entry = { capability, ...namesOf(tool), state: 'granted' as const }
  const asks = tool.consent.filter(name => !allowed.includes(name))
  return asks.length === 0 ? entry : { ...entry, reason: `A person is asked first: ${asks.join(', ')}.` }
}

function unavailableEntry({ tool, capability }: Grant, missing: readonly MissingDependency[]): ResolutionEntry {
  return { capability, ...namesOf(tool), state: 'unavailable', reason: missingInWords(missing) }
}

/** Reports are held against allowlists, so they name tools as those do. */
function namesOf({ name, ownName }: Grant['tool']): Pick<ResolutionEntry, 'tool' | 'calledAs'> {
  return ownName === name ? { tool: name } : { tool: ownName, calledAs: name }
}
