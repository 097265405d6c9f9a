import { z } from 'zod'
import { AppError, DependencyStatus, Problem } from '../../contracts/index.ts'
import { defineTool, type Generation, type RegistryService, type Tool } from '../../core/catalogue/index.ts'
import { type Address, missingInWords, parseAddress, requirementsOf } from '../../core/health/index.ts'

/** A longer list is cut; a name or a state narrows it. */
const MOST = 200

const Input = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe(
      'A tool, dependency or capability; "tool:x", "dependency:x" or "capability:x" where one name means several. ' +
        'Also one that is missing because its definition is wrong or held back.',
    ),
  state: z.enum(['active', 'disabled']).optional().describe('List tools of this state; without it, those in trouble.'),
})
type Input = z.infer<typeof Input>

const ToolLine = z.object({
  name: z.string(),
  capability: z.string(),
  short: z.string().describe('What it does.'),
  state: z.enum(['active', 'disabled']),
  recovering: z.boolean(),
  reason: z.string().optional().describe('Why it is disabled.'),
})

const Output = z.object({
  generation: z.number().int().describe('Grows by one with every change of definitions.'),
  active: z.number().int(),
  disabled: z.number().int(),
  tools: z.array(ToolLine),
  withheld: z
    .array(z.object({ name: z.string(), capability: z.string(), reason: z.string() }))
    .describe('Tools that a capability has and does not offer: held back for review, or wrong.'),
  dependencies: z.array(DependencyStatus),
  problems: z
    .array(Problem)
    .describe(
      'What is wrong with configuration, definitions and agents; with a name, with it and the file it comes from.',
    ),
  isCut: z.boolean().describe('Whether there is more than is shown.'),
})

/** The tool that shows all definitions and whether they work. */
export function createStatus(registry: RegistryService) {
  return defineTool({
    name: 'registry_status',
    title: 'Status of the registry',
    short:
      'Shows what is defined here and whether it works: tools, dependencies with their reasons, and faulty definitions.',
    whenToUse:
      'To find out why a tool is disabled or missing for any agent, and what is wrong with definitions. ' +
      'Comes back with counts, the tools in trouble (or all of a state), those that are held back, every dependency ' +
      'with state, reason and age, and the problems. A name narrows it to one tool, dependency or capability and what belongs to it. ' +
      'It only shows: registry_recheck checks again, registry_reload loads changes.',
    command: { none: 'The owner has quartermaster status, tools and doctor.' },
    input: Input,
    output: Output,
    examples: [
      { query: 'what does not work here?', input: {} },
      { query: 'what depends on the mail server?', input: { name: 'dependency:smtp' } },
    ],
    mutates: false,
    handler: input => statusOf(input, registry),
  })
}

function statusOf({ name, state }: Input, registry: RegistryService): z.infer<typeof Output> {
  const generation = registry.generation()
  const scope = scopeOf(name, generation, registry.problems())
  const lines = scope.tools.map(tool => lineOf(tool, registry))
  const active = lines.filter(line => line.state === 'active').length
  const wanted = lines.filter(line => (state === undefined ? isShown(line, scope) : line.state === state))
  const dependencies = registry.dependencies().filter(one => scope.dependencies.has(one.name))
  const { problems } = scope
  const withheld = scope.withheld.map(({ name: called, capability, reason }) => ({ name: called, capability, reason }))
  return {
    generation: generation.number,
    active,
    disabled: lines.length - active,
    tools: wanted.slice(0, MOST),
    withheld: withheld.slice(0, MOST),
    dependencies: dependencies.slice(0, MOST),
    problems: problems.slice(0, MOST),
    isCut: [wanted, withheld, dependencies, problems].some(list => list.length > MOST),
  }
}

/** A named item is always shown; of everything, only what is in trouble. */
function isShown({ state, recovering }: z.infer<typeof ToolLine>, { isAll }: Scope): boolean {
  return !isAll || state === 'disabled' || recovering
}

function lineOf(tool: Tool, registry: RegistryService): z.infer<typeof ToolLine> {
  const { active, recovering } = registry.availability(tool)
  const { name, capability, short } = tool
  if (active) return { name, capability, short, state: 'active', recovering }
  return { name, capability, short, state: 'disabled', recovering, reason: missingInWords(registry.missing(tool)) }
}

interface Scope {
  readonly isAll: boolean
  readonly tools: readonly Tool[]
  readonly withheld: readonly Withheld[]
  readonly dependencies: ReadonlySet<string>
  readonly problems: readonly Problem[]
}

/** Everything, or what belongs to a name: its tools or the tools that need it, their dependencies, and problems. */
function scopeOf(name: string | undefined, generation: Generation, problems: readonly Problem[]): Scope {
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

/** An unknown name may be withheld or faulty, which is then the answer. */
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

/** Its own problems first, then those of the files it comes from, and of tools it cannot offer. */
function problemsOf({ kind, name }: Address, generation: Generation, problems: readonly Problem[]): Problem[] {
  const capability = kind === 'capability' ? generation.capabilities.get(name) : undefined
  const all = { tool: generation.tools, dependency: generation.dependencies, capability: generation.capabilities }
  const parts = [all[kind].get(name), ...(capability?.tools ?? [])]
  const files = new Set(parts.flatMap(part => part?.unit ?? []))
  const wrong = (capability?.hidden ?? []).filter(({ isWrong }) => isWrong)
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

/** Whether a problem is in one of these files or sources. */
function isIn({ where }: Problem, units: ReadonlySet<string>): boolean {
  return units.has(fileOf(where))
}

/** Whether a problem has this name as its subject, as its file, or in its message. */
function isAboutName({ where, subject = '', message }: Problem, name: string): boolean {
  const file = fileOf(where)
  const base = file.slice(file.lastIndexOf('/') + 1)
  const names = [file, base, base.replace(/\.[^.]+$/, ''), subject, subject.slice(subject.indexOf(':') + 1)]
  return names.includes(name) || message.includes(`"${name}"`)
}

/** Without the line number. */
function fileOf(where: string): string {
  return where.replace(/:\d+$/, '')
}

/** A tool that a capability has and does not offer. */
interface Withheld {
  readonly name: string
  /** Its name in its own definition. */
  readonly ownName: string
  readonly capability: string
  readonly reason: string
}

function withheldIn({ capabilities }: Generation): Withheld[] {
  return [...capabilities.values()].flatMap(({ key, hidden }) =>
    hidden.map(({ name, calledAs = name, reason }) => ({ name: calledAs, ownName: name, capability: key, reason })),
  )
}
