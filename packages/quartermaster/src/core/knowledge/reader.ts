import type { DocState, ResolutionEntry } from '../../contracts/index.ts'
import type { Tool } from '../catalogue/index.ts'
import type { Entry } from './entry.ts'
import { grouped } from './grouped.ts'
import { seesUnit, type UnitReader } from './sees-unit.ts'
import { capabilityState, type ToolHealth, toolState } from './state.ts'

/** Who reads: what they see, and in which state it is for them. */
export interface Reader {
  /** Whether they look after the project, and may read how it is configured. */
  readonly isOwner: boolean
  sees(entry: Entry): boolean
  /** Of tools and capabilities. */
  stateOf(entry: Entry): DocState | undefined
  /** The tools that an entry speaks of or consists of, as far as they are anything to this reader. */
  toolsOf(entry: Entry): readonly string[]
}

/** The owner of the project, who sees all. */
export function ownerReader(health: ToolHealth): Reader {
  return {
    isOwner: true,
    sees: () => true,
    stateOf({ of }) {
      if ('tool' in of) return toolState(of.tool, health)
      if ('withheld' in of) return { state: 'disabled', reason: of.withheld.reason }
      if ('unit' in of) return undefined
      const { tools, leftOut, unseen } = of.capability
      return capabilityState({ tools, withheld: leftOut.map(({ reason }) => reason), unseen }, health)
    },
    toolsOf: ({ tools }) => tools,
  }
}

/** What an agent has, as far as reading needs to know. */
export interface Readable extends UnitReader {
  readonly grants: ReadonlyMap<string, { readonly tool: Tool; readonly capability: string }>
  readonly withheld: readonly Pick<ResolutionEntry, 'capability' | 'tool' | 'calledAs' | 'reason'>[]
  /** Whether it can call a tool, working or not. */
  isOffered(tool: string): boolean
  readonly health: ToolHealth
}

/**
 * An agent: of tools and capabilities it sees those it was granted, held back or not, of directions those it has all tools
 * for. What it has not was never said to be there.
 */
export function agentReader({ grants, withheld, health, isOffered, has, isGuest }: Readable): Reader {
  const byCapability = grantedTools(grants)
  // By capability too: another one may have a tool of the same name that it was never given.
  const held = new Map(
    withheld.map(({ capability, tool, calledAs = tool, reason = NOT_OFFERED }) => [
      `${capability} ${calledAs}`,
      reason,
    ]),
  )
  const heldBy = grouped(withheld.map(({ capability, reason = NOT_OFFERED }) => [capability, reason] as const))
  const heldIn = (key: string) => heldBy.get(key) ?? []
  const whyHeld = ({ capability, name }: { capability: string; name: string }) => held.get(`${capability} ${name}`)
  return {
    isOwner: false,
    sees({ of }) {
      if ('unit' in of) return seesUnit(of.unit, { has, isGuest })
      if ('tool' in of) return isOffered(of.tool.name) || whyHeld(of.tool) !== undefined
      if ('withheld' in of) return whyHeld(of.withheld) !== undefined
      return byCapability.has(of.capability.key) || heldIn(of.capability.key).length > 0
    },
    stateOf({ of }) {
      if ('unit' in of) return undefined
      if ('withheld' in of) return { state: 'disabled', reason: whyHeld(of.withheld) ?? of.withheld.reason }
      if ('tool' in of) {
        const reason = isOffered(of.tool.name) ? undefined : whyHeld(of.tool)
        return reason === undefined ? toolState(of.tool, health) : { state: 'disabled', reason }
      }
      const { key, unseen } = of.capability
      return capabilityState({ tools: byCapability.get(key) ?? [], withheld: heldIn(key), unseen }, health)
    },
    toolsOf({ of, tools }) {
      if (!('capability' in of)) return tools.filter(has)
      return (byCapability.get(of.capability.key) ?? []).map(({ name }) => name)
    },
  }
}

const NOT_OFFERED = 'It is not offered now.'

const known = new WeakMap<Readable['grants'], ReadonlyMap<string, readonly Tool[]>>()

/** By capability. Grants stay the same object while nothing changes, and there may be ten thousand. */
function grantedTools(grants: Readable['grants']): ReadonlyMap<string, readonly Tool[]> {
  const before = known.get(grants)
  if (before) return before
  const tools = grouped([...grants.values()].map(({ tool, capability }) => [capability, tool] as const))
  known.set(grants, tools)
  return tools
}
