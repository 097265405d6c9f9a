import { type FoundOperation, freeNames, LONGEST_NAME } from '../adapters/openapi/index.ts'
import { AppError, type ToolSummary } from '../contracts/index.ts'

/** An operation that was chosen, under a name that nothing else in the project has. */
export interface NamedOperation {
  readonly operation: FoundOperation
  readonly notes: readonly string[]
}

export interface NamesAround {
  /** The tools that the project has now. */
  readonly present: readonly ToolSummary[]
  readonly capability: string
}

/** Gives another name to each that would be left out as a tool because its name is taken. */
export function namedApart(chosen: readonly FoundOperation[], { present, capability }: NamesAround): NamedOperation[] {
  const stranger = present.find(one => one.capability === capability && !isDeclared(one))
  if (stranger)
    throw new AppError(
      'NAME_TAKEN',
      `Nothing was imported. The capability "${capability}" is there already (${stranger.source}), and files cannot add to it. Give another with --capability.`,
    )
  // What stands in the file that would be written is no other tool.
  const others = present.filter(({ name, source }) => source !== `knowledge/${capability}/${name}.md`)
  const taken = new Set(others.map(({ name }) => name))
  const free = freeNames([...taken, ...chosen.map(({ tool }) => tool)])
  return chosen.map(operation => {
    const { tool } = operation
    if (!taken.has(tool)) return { operation, notes: [] }
    const name = free(`${capability}_${tool}`.slice(0, LONGEST_NAME))
    return { operation: { ...operation, tool: name }, notes: [`"${tool}" is another tool; this one is "${name}".`] }
  })
}

const isDeclared = ({ source }: ToolSummary) => /^knowledge\/.+\.md$/i.test(source)
