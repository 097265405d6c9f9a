import { z } from 'zod'
import { DependencyStatus, Problem } from '../../contracts/index.ts'
import { defineTool, type RegistryDesk, type Tool } from '../../core/catalogue/index.ts'
import { missingInWords } from '../../core/health/index.ts'
import { type Scope, scopeOf } from './scope.ts'

/** More is not read; a name or a state narrows it. */
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

/** The tool that shows what there is and whether it works. */
export function createStatus(registry: RegistryDesk) {
  return defineTool({
    name: 'registry_status',
    title: 'Status of the registry',
    short:
      'Shows what is defined here and whether it works: tools, dependencies with their reasons, and faulty definitions.',
    whenToUse:
      'To find out why a tool is disabled or missing, whoever has it, and what is wrong with definitions. ' +
      'Comes back with counts, the tools in trouble (or all of a state), those that are held back, every dependency ' +
      'with state, reason and age, and the problems. A name narrows it to one tool, dependency or capability and what belongs to it. ' +
      'It only shows: registry_recheck looks again, registry_reload loads changes.',
    command: { none: 'The owner has quartermaster status, tools and doctor.' },
    input: Input,
    output: Output,
    examples: [
      { query: 'what does not work here?', input: {} },
      { query: 'what hangs on the mail server?', input: { name: 'dependency:smtp' } },
    ],
    mutates: false,
    handler: input => statusOf(input, registry),
  })
}

function statusOf({ name, state }: Input, registry: RegistryDesk): z.infer<typeof Output> {
  const generation = registry.generation()
  const scope = scopeOf(name, generation, registry.problems())
  const lines = scope.tools.map(tool => lineOf(tool, registry))
  const active = lines.filter(line => line.state === 'active').length
  const wanted = lines.filter(line => (state === undefined ? isWorthTelling(line, scope) : line.state === state))
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

/** Whoever names something wants to see it; of everything, only what is in trouble. */
function isWorthTelling({ state, recovering }: z.infer<typeof ToolLine>, { isAll }: Scope): boolean {
  return !isAll || state === 'disabled' || recovering
}

function lineOf(tool: Tool, registry: RegistryDesk): z.infer<typeof ToolLine> {
  const { active, recovering } = registry.availability(tool)
  const { name, capability, short } = tool
  if (active) return { name, capability, short, state: 'active', recovering }
  return { name, capability, short, state: 'disabled', recovering, reason: missingInWords(registry.missing(tool)) }
}
