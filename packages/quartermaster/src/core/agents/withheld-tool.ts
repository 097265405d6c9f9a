import type { ResolutionEntry } from '../../contracts/index.ts'
import { absentTools, type Generation, LOST_NAME } from '../catalogue/index.ts'
import { type Health, missingInWords } from '../health/index.ts'

interface SeenParts {
  readonly withheld: readonly ResolutionEntry[]
  readonly refused: readonly ResolutionEntry[]
  readonly generation: Generation
  readonly health: Pick<Health, 'missing'>
}

export interface WithheldParts extends SeenParts {
  readonly absent: readonly ResolutionEntry[]
}

/** What an agent was given and cannot call now by this name, with the reason. For whoever calls it, so only when somebody has. */
export function withheldTool(tool: string, parts: WithheldParts): ResolutionEntry | undefined {
  const { withheld, absent, generation } = parts
  const isCalled = ({ tool: own, calledAs = own }: ResolutionEntry) => calledAs === tool
  const known = withheld.filter(entry => isCalled(entry) && entry.reason !== undefined)
  // Whoever calls it means the one that has the name, also while nobody is offered under it.
  const owner = generation.owners.get(`tool:${tool}`)?.unit
  const isOwners = ({ capability }: ResolutionEntry) => generation.capabilities.get(capability)?.unit === owner
  const owned = owner === undefined ? undefined : known.find(isOwners)
  const held = owned ?? known.find(({ reason }) => reason !== LOST_NAME) ?? known[0]
  return held ?? absent.find(isCalled) ?? refusedTool(tool, parts) ?? perhapsOf(tool, parts)
}

/** What the agent's file asks for wrongly: by its name, by the name a server's tool would have, or as part of a capability. */
function refusedTool(tool: string, { refused, generation }: SeenParts): ResolutionEntry | undefined {
  return refused.find(({ capability, tool: own }) => {
    if (own !== '*') return own === tool || `${capability}_${own}` === tool
    const known = generation.capabilities.get(capability)
    return tool.startsWith(`${capability}_`) || known?.tools.some(({ name }) => name === tool)
  })
}

/** The unit that may have a tool of this name, where nobody knows yet what it has. */
export function unseenUnit(tool: string, parts: WithheldParts): string | undefined {
  const held = withheldTool(tool, parts)
  if (held && parts.refused.includes(held)) return undefined
  const capability = held && parts.generation.capabilities.get(held.capability)
  return capability?.unseen === undefined ? undefined : capability.unit
}

/** What nobody has seen yet may have any tool. That of a server has a name which begins with its own. */
function perhapsOf(tool: string, parts: SeenParts): ResolutionEntry | undefined {
  const { withheld, generation } = parts
  const isPerhaps = ({ capability, tool: own, state, reason }: ResolutionEntry) => {
    if (state !== 'unavailable' || reason === undefined) return false
    // Of one that is still being read nobody knows whether it is a server's.
    const prefixes = generation.capabilities.has(capability) ? [`${capability}_`] : [`${capability}_`, '']
    return prefixes.some(prefix => (own === '*' ? tool.startsWith(prefix) : tool === `${prefix}${own}`))
  }
  const found = withheld.find(entry => isPerhaps(entry) && !isSeen(entry, parts))
  if (!found) return undefined
  const why = [`"${found.capability}" may have it.`, causeOf(found, parts), found.reason].filter(Boolean).join(' ')
  return { ...found, tool, reason: why }
}

/** Of what is held back, is there no more or is left out, it is known by which name it would be called. */
function isSeen({ capability: key, tool }: ResolutionEntry, { generation }: SeenParts): boolean {
  const capability = generation.capabilities.get(key)
  if (!capability) return false
  return [...capability.leftOut, ...absentTools(capability)].some(({ name }) => name === tool)
}

/** The tools that an agent was given and that are held back, are there no more, are left out, or are asked for wrongly. */
export function heldTools(parts: SeenParts): { tool: string; capability: string; reason: string }[] {
  const held = parts.withheld.filter(entry => entry.state === 'unavailable' && isSeen(entry, parts))
  return [...held, ...parts.refused].flatMap(({ tool, calledAs = tool, capability, reason }) =>
    tool === '*' || reason === undefined ? [] : [{ tool: calledAs, capability, reason }],
  )
}

/** The capabilities that an agent was given and of which nobody knows yet what they have, or that are asked for wrongly. */
export function unseenCapabilities(parts: SeenParts): { capability: string; reason: string }[] {
  const keys = new Set(parts.withheld.map(({ capability }) => capability))
  const wrong = parts.refused.flatMap(({ capability, tool, reason }) =>
    tool === '*' && reason !== undefined ? [{ capability, reason }] : [],
  )
  const unseenOnes = [...keys].flatMap(capability => {
    const unseen = parts.generation.capabilities.get(capability)?.unseen
    if (unseen === undefined) return []
    return [{ capability, reason: [causeOf({ capability }, parts), unseen].filter(Boolean).join(' ') }]
  })
  return [...unseenOnes, ...wrong]
}

/** Why its server has not been seen, which changes oftener than what it offers does. */
function causeOf({ capability }: Pick<ResolutionEntry, 'capability'>, { generation, health }: SeenParts): string {
  const { unseen, unit: own } = generation.capabilities.get(capability) ?? {}
  if (unseen === undefined) return ''
  const requires = [...generation.dependencies.values()].filter(({ unit }) => unit === own).map(({ name }) => name)
  const missing = health.missing({ requires }, { withRecovering: true })
  return missingInWords(missing.filter(({ reason }) => !unseen.includes(reason)))
}
