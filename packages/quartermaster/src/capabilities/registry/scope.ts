import { AppError, type Problem } from '../../contracts/index.ts'
import type { Generation, Tool } from '../../core/catalogue/index.ts'
import { type Address, parseAddress, requirementsOf } from '../../core/health/index.ts'
import { isAboutName, isIn } from './problem-place.ts'
import { type Withheld, withheldIn } from './withheld.ts'

/** What a question about the registry is about. */
export interface Scope {
  readonly isAll: boolean
  readonly tools: readonly Tool[]
  /** Those that are not offered. */
  readonly withheld: readonly Withheld[]
  readonly dependencies: ReadonlySet<string>
  readonly problems: readonly Problem[]
}

/** Everything, or what belongs to a name: the tools that need it or that it consists of, what those hang on, and what is wrong. */
export function scopeOf(name: string | undefined, generation: Generation, problems: readonly Problem[]): Scope {
  const tools = [...generation.tools.values()]
  const withheld = withheldIn(generation)
  if (name === undefined)
    return { isAll: true, tools, withheld, dependencies: new Set(generation.dependencies.keys()), problems }
  const address = addressOf(name, generation)
  if (address instanceof AppError) return absentScope(name, { withheld, problems, otherwise: address })
  const belongs = (tool: Tool) => {
    if (address.kind === 'tool') return tool.name === address.name
    if (address.kind === 'capability') return tool.capability === address.name
    return withParents(tool.requires, generation).has(address.name)
  }
  return {
    isAll: false,
    tools: tools.filter(belongs),
    withheld: withheld.filter(one => address.kind === 'capability' && one.capability === address.name),
    dependencies: withParents(requirementsOf(address, generation), generation),
    problems: problemsOf(address, generation, problems),
  }
}

function addressOf(name: string, generation: Generation): Address | AppError {
  try {
    return parseAddress(name, generation)
  } catch (error) {
    if (error instanceof AppError && error.code !== 'NAME_AMBIGUOUS') return error
    throw error
  }
}

/** What is not there may be held back, or wrong: whoever asks for it wants to know just that. */
function absentScope(
  name: string,
  { otherwise, ...all }: Pick<Scope, 'withheld' | 'problems'> & { readonly otherwise: AppError },
): Scope {
  const bare = name.replace(/^(?:tool|dependency|capability):/, '')
  const withheld = all.withheld.filter(one => one.name === bare || one.ownName === bare)
  const problems = all.problems.filter(problem => isAboutName(problem, bare))
  if (withheld.length === 0 && problems.length === 0) throw otherwise
  return { isAll: false, tools: [], withheld, dependencies: new Set(), problems }
}

/** Its own first, then whatever else is wrong with the files it comes from, and with tools it has and cannot offer. */
function problemsOf({ kind, name }: Address, generation: Generation, problems: readonly Problem[]): Problem[] {
  const capability = kind === 'capability' ? generation.capabilities.get(name) : undefined
  const shelves = { tool: generation.tools, dependency: generation.dependencies, capability: generation.capabilities }
  const parts = [shelves[kind].get(name), ...(capability?.tools ?? [])]
  const files = new Set(parts.flatMap(part => part?.unit ?? []))
  const wrong = (capability?.leftOut ?? []).filter(({ isWrong }) => isWrong)
  const isOwn = ({ subject }: Problem) => subject === `${kind}:${name}`
  const isBeside = (problem: Problem) => isIn(problem, files) || wrong.some(one => isAboutName(problem, one.name))
  return [...problems.filter(isOwn), ...problems.filter(problem => !isOwn(problem) && isBeside(problem))]
}

function withParents(names: readonly string[], { dependencies }: Generation): Set<string> {
  const found = new Set(names)
  // A set that grows while it is walked is walked to its end.
  for (const name of found) for (const parent of dependencies.get(name)?.dependsOn ?? []) found.add(parent)
  return found
}
