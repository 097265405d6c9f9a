import type { Generation, Tool } from '../../core/catalogue/index.ts'
import { parseAddress, requirementsOf } from '../../core/health/index.ts'

/** What a question about the registry is about. */
export interface Scope {
  readonly isAll: boolean
  readonly tools: readonly Tool[]
  readonly dependencies: ReadonlySet<string>
}

/** Everything, or what belongs to a name: the tools that need it or that it consists of, and what those hang on. */
export function scopeOf(name: string | undefined, generation: Generation): Scope {
  const all = [...generation.tools.values()]
  if (name === undefined) return { isAll: true, tools: all, dependencies: new Set(generation.dependencies.keys()) }
  const address = parseAddress(name, generation)
  const dependencies = withParents(requirementsOf(address, generation), generation)
  const belongs = (tool: Tool) => {
    if (address.kind === 'tool') return tool.name === address.name
    if (address.kind === 'capability') return tool.capability === address.name
    return withParents(tool.requires, generation).has(address.name)
  }
  return { isAll: false, tools: all.filter(belongs), dependencies }
}

function withParents(names: readonly string[], { dependencies }: Generation): Set<string> {
  const found = new Set(names)
  // A set that grows while it is walked is walked to its end.
  for (const name of found) for (const parent of dependencies.get(name)?.dependsOn ?? []) found.add(parent)
  return found
}
