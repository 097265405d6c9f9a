import { type Ability, type Placement, ROOT_WORKSPACE } from '../../contracts/index.ts'
import { didYouMean } from '../kernel/index.ts'

/** An agent of the folder, as far as its place goes. */
export interface PlacedAgent {
  readonly name: string
  /** Absent when its file does not read: then it stays where it was. */
  readonly config?: { readonly description?: string | undefined; readonly workspace?: Placement | undefined }
}

/** Where an agent belongs. */
export interface FolderPlace {
  readonly name: string
  /** The name of the one above; null for the root itself. */
  readonly parent: string | null
  readonly role: string
  readonly abilities: readonly Ability[]
  readonly description: string | null
}

/** What the files of a folder say about who sits where. */
export interface Placements {
  /** All agents there are. */
  readonly names: ReadonlySet<string>
  /** Those whose place can be told; each after the one above it. */
  readonly places: readonly FolderPlace[]
  /** What is wrong with the others. */
  readonly problems: ReadonlyMap<string, { readonly field: string; readonly message: string }>
}

/** Reads the places of a folder's agents. One that is wrong leaves out that agent alone. */
export function placeAgents(agents: readonly PlacedAgent[], { depth }: { depth: number }): Placements {
  const names = new Set(agents.map(({ name }) => name))
  const problems = new Map<string, { field: string; message: string }>()
  const parents = new Map(agents.map(agent => [agent.name, parentOf(agent)]))
  const tiers = new Map<string, number>()
  for (const name of names) {
    const message = objectionTo(name, parents, depth)
    if (message !== undefined) problems.set(name, { field: 'workspace.parent', message })
    tiers.set(name, chainOf(name, parents).length)
  }
  const readable = agents.filter(({ name, config }) => config && !problems.has(name))
  const ordered = readable.toSorted((a, b) => (tiers.get(a.name) ?? 0) - (tiers.get(b.name) ?? 0))
  return { names, problems, places: ordered.map(placeOf) }
}

function parentOf({ name, config }: PlacedAgent): string | null {
  return config?.workspace?.parent ?? (name === ROOT_WORKSPACE ? null : ROOT_WORKSPACE)
}

function placeOf(agent: PlacedAgent): FolderPlace {
  const { name, config } = agent
  const { role = '', abilities = [] } = config?.workspace ?? {}
  return { name, parent: parentOf(agent), role, abilities, description: config?.description ?? null }
}

type Parents = ReadonlyMap<string, string | null>

/** Those above it by what the files say, up to the root, to one that is not there, or to itself again. */
function chainOf(name: string, parents: Parents): string[] {
  const chain: string[] = []
  for (let at = parents.get(name) ?? null; at !== null && !chain.includes(at); at = parents.get(at) ?? null) {
    chain.push(at)
    if (at === name) break
  }
  return chain
}

function objectionTo(name: string, parents: Parents, depth: number): string | undefined {
  const parent = parents.get(name) ?? null
  if (name === ROOT_WORKSPACE)
    return parent === null ? undefined : `"${name}" sits at the root, which has nothing above it. Take "parent" out.`
  if (parent !== null && parent !== ROOT_WORKSPACE && !parents.has(parent))
    return `No agent of this folder is named "${parent}".${didYouMean(parent, [...parents.keys(), ROOT_WORKSPACE])}`
  const chain = chainOf(name, parents)
  if (chain.includes(name)) return `"${name}" would be below itself: ${[name, ...chain].join(' → ')}.`
  if (chain.length > depth)
    return `"${name}" would be ${chain.length} levels below the root; ${depth} is the most ("workspaceDepth").`
  return undefined
}
