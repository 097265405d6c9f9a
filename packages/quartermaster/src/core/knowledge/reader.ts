import type { DocState, ResolutionEntry } from '../../contracts/index.ts'
import type { Tool } from '../catalogue/index.ts'
import type { Entry } from './entry.ts'
import { isOffered } from './offered.ts'
import { capabilityState, type ToolHealth, toolState } from './state.ts'

/** Who reads: what they see, and in which state it is for them. */
export interface Reader {
  sees(entry: Entry): boolean
  /** Of tools and capabilities. */
  stateOf(entry: Entry): DocState | undefined
}

/** The owner of the project, who sees all. */
export function ownerReader(health: ToolHealth): Reader {
  return {
    sees: () => true,
    stateOf: ({ of }) => {
      if ('tool' in of) return toolState(of.tool, health)
      if ('unit' in of) return undefined
      return capabilityState(of.capability.tools, { health, unseen: of.capability.unseen })
    },
  }
}

/** What an agent has, as far as reading needs to know. */
export interface Readable {
  readonly grants: ReadonlyMap<string, { readonly tool: Tool; readonly capability: string }>
  readonly withheld: readonly Pick<ResolutionEntry, 'capability' | 'reason'>[]
  readonly health: ToolHealth
  /** Whether it has a tool, working or not; also one that stands for others or comes beside them. */
  has(tool: string): boolean
  /** Whether it has no part in the project's own knowledge, as those who only visit. */
  readonly isGuest: boolean
}

/** An agent: of tools and capabilities it sees those it was granted, of directions those it has all tools for. */
export function agentReader({ grants, withheld, health, has, isGuest }: Readable): Reader {
  const byCapability = grantedTools(grants)
  const reasons = new Map(withheld.map(({ capability, reason }) => [capability, reason] as const))
  return {
    sees({ of }) {
      if ('unit' in of) return (of.unit.isBuiltin || !isGuest) && isOffered(of.unit, has)
      if ('tool' in of) return grants.has(of.tool.name)
      return byCapability.has(of.capability.key) || reasons.has(of.capability.key)
    },
    stateOf({ of }) {
      if ('tool' in of) return toolState(of.tool, health)
      if ('unit' in of) return undefined
      const { key, unseen } = of.capability
      return capabilityState(byCapability.get(key) ?? [], { health, unseen: reasons.get(key) ?? unseen })
    },
  }
}

const known = new WeakMap<Readable['grants'], ReadonlyMap<string, readonly Tool[]>>()

/** By capability. Grants stay the same object while nothing changes, and there may be ten thousand. */
function grantedTools(grants: Readable['grants']): ReadonlyMap<string, readonly Tool[]> {
  const before = known.get(grants)
  if (before) return before
  const tools = new Map<string, Tool[]>()
  for (const { tool, capability } of grants.values()) {
    const others = tools.get(capability)
    if (others) others.push(tool)
    else tools.set(capability, [tool])
  }
  known.set(grants, tools)
  return tools
}
