import { z } from 'zod'
import {
  type CommandDecision,
  type Issue,
  issueText,
  type JsonSchema,
  messageOf,
  Name,
  type Problem,
  type Settings,
} from '../../contracts/index.ts'
import { commandParameters, type Digest, didYouMean, issuePredicate, MOST_ISSUES } from '../kernel/index.ts'
import { type Capability, type CapabilityResolver, type EffectChecker, type EffectDefinition } from './definitions.ts'
import { type CatalogueCapability, type Generation, type Origin, type SourceKind, type Tool } from './generation.ts'
import {
  describeSchema,
  type SchemaCompiler,
  type SchemaLike,
  type SchemaSide,
  type Validate,
  validatorOf,
} from './schema.ts'

const Texts = z.object({ name: Name, title: z.string().min(1).max(100), short: z.string().min(1).max(1024) })

export function checkTexts(
  texts: Record<'name' | 'title' | 'short', unknown>,
  subject: string,
  problems: ProblemList,
): void {
  const parsed = Texts.safeParse(texts)
  if (!parsed.success) problems.addIssues(subject, '', parsed.error.issues)
}

/** Reports unknown fields; a misspelled `requires` would otherwise be silently ignored. */
export function checkFields(
  definition: object,
  known: readonly string[],
  subject: string,
  problems: ProblemList,
): void {
  const kind = subject.split(':')[0] ?? subject
  const article = /^[aeio]/.test(kind) ? 'an' : 'a'
  for (const key of Object.keys(definition)) {
    if (!known.includes(key))
      problems.add(
        subject,
        key,
        `is not a field of ${article} ${kind}.${renamedTo(key, known) ?? didYouMean(key, known)}`,
      )
  }
}

/** Fields renamed since earlier drafts of the definitions. */
const RENAMED: Readonly<Record<string, string>> = { mend: 'fix' }

function renamedTo(key: string, known: readonly string[]): string | undefined {
  const name = Object.hasOwn(RENAMED, key) ? RENAMED[key] : undefined
  return name !== undefined && known.includes(name) ? ` It is called "${name}".` : undefined
}

/** Reports fields that must be lists and are not; returns whether all are. */
export function checkLists(
  definition: object,
  fields: readonly string[],
  subject: string,
  problems: ProblemList,
): boolean {
  const wrong = fields.filter(field => {
    const value = (definition as Record<string, unknown>)[field]
    return !Array.isArray(value) || value.some(item => item === null || item === undefined)
  })
  for (const field of wrong) problems.add(subject, field, 'must be a list without holes')
  return wrong.length === 0
}

/** Merges both lists; a second value that is no list is returned as is, so that its schema reports it. */
export function unionOf(first: readonly string[], second: unknown): unknown {
  if (!Array.isArray(second) || first.length === 0) return second
  return [...new Set([...first, ...second])]
}

interface SchemaUse {
  readonly subject: string
  readonly field: string
  readonly side: SchemaSide
  readonly root?: 'object'
  readonly context: CheckContext
}

/** Describes and validates a schema; `undefined` after reporting what is wrong. */
export function checkSchema(
  schema: SchemaLike,
  at: SchemaUse,
): { described: JsonSchema; validate: Validate } | undefined {
  const { problems, deps } = at.context
  try {
    if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null)
      throw new TypeError('must be a schema')
    const written = at.context.kind === 'upstream' ? withRoot(schema, at.root) : schema
    const given = describeSchema(written, at.side)
    const { described, issues, usable } =
      at.context.kind === 'upstream' ? leniently(given, at) : strictly(given, written, deps)
    if (at.root && described.type !== at.root) issues.push({ path: ['type'], message: `must be "${at.root}"` })
    if (issues.length === 0) return { described, validate: validatorOf(usable, at.side, deps.compiler) }
    problems.addIssues(at.subject, at.field, issues)
  } catch (error) {
    problems.add(at.subject, at.field, messageOf(error))
  }
  return undefined
}

interface Checked {
  readonly described: JsonSchema
  readonly issues: Issue[]
  readonly usable: SchemaLike
}

function strictly(described: JsonSchema, schema: SchemaLike, { compiler }: CheckDeps): Checked {
  return { described, issues: compiler.check(described), usable: schema }
}

const MOST_UNCHECKED = 3

/**
 * Reads a schema of a foreign server. Parts of an invalid schema that we do not understand are left for the server to check: a tool
 * that clients could call there must not be missing here. Clients are shown the reduced schema.
 */
function leniently(given: JsonSchema, { subject, field, context: { problems, deps } }: SchemaUse): Checked {
  if (deps.compiler.check(given).length === 0) return { described: given, issues: [], usable: given }
  const { schema, unchecked } = deps.compiler.accept(given)
  for (const { path, message } of unchecked.slice(0, MOST_UNCHECKED))
    problems.warn(subject, [field, ...path].join('.'), `is left to the server to check: ${message}`)
  const more = unchecked.length - MOST_UNCHECKED
  if (more > 0) problems.warn(subject, field, `has ${more} more parts that are left to the server to check`)
  return { described: schema, issues: [], usable: schema }
}

/** Many servers omit the type, or send `{}` for a tool without input. */
function withRoot(schema: SchemaLike, root: 'object' | undefined): SchemaLike {
  return root && (schema as JsonSchema).type === undefined ? { type: root, ...(schema as JsonSchema) } : schema
}

export interface CheckDeps {
  readonly compiler: SchemaCompiler
  readonly digest: Digest
  readonly settings: Pick<Settings, 'callTimeoutSeconds' | 'maxResultBytes'>
  readonly effectKinds: ReadonlyMap<string, EffectChecker>
  readonly ownEffectKind: (definition: EffectDefinition) => EffectChecker
}

/** The capability or injection whose definitions are checked. */
export type Bundle = Pick<Capability, 'key' | 'requires' | 'effectKinds'>

export interface CheckContext {
  readonly kind: SourceKind
  readonly origin: Origin
  readonly unitHash: string
  readonly sources?: string | undefined
  readonly problems: ProblemList
  readonly deps: CheckDeps
  /** When an upstream first claimed each of its resource URIs. */
  readonly claimed?: ReadonlyMap<string, number>
}

/** Checks that positional arguments of a command are parameters that can be written without their names. */
export function checkCommand(
  command: CommandDecision,
  { subject, input, problems }: { subject: string; input: JsonSchema; problems: ProblemList },
): void {
  if ('none' in command || command.arguments === undefined) return
  const parameters = new Map(commandParameters(input).map(parameter => [parameter.key, parameter]))
  const add = (message: string) => problems.add(subject, 'command.arguments', message)
  let optional: string | undefined
  for (const [i, key] of command.arguments.entries()) {
    const parameter = parameters.get(key)
    if (!parameter) add(`name "${key}", which is no parameter.${didYouMean(key, parameters.keys())}`)
    else if (!['text', 'number', 'choice'].includes(parameter.kind))
      add(`name "${key}", which is no text, number or choice, and so is written with its name`)
    else if (command.arguments.indexOf(key) !== i) add(`name "${key}" twice`)
    else if (!parameter.isRequired) optional = key
    else if (optional !== undefined) add(`have "${key}", which is required, behind "${optional}", which is not`)
  }
}

/**
 * Finds examples that their own tool would reject. Not part of loading, because it compiles the schema of every tool with examples,
 * and a wrong example misleads but breaks nothing.
 */
export async function checkExamples(generation: Generation): Promise<Problem[]> {
  const problems: Problem[] = []
  for (const tool of generation.tools.values()) problems.push(...(await wrongExamples(tool)))
  return problems
}

async function wrongExamples(tool: Tool): Promise<Problem[]> {
  const found = await Promise.all(
    tool.examples.map(async (example, index) => {
      const checked = await tool.validateInput(example.input)
      return checked.ok ? [] : checked.issues.map(issue => wrongExample(tool, index, issueText(issue)))
    }),
  )
  return found.flat()
}

function wrongExample(tool: Tool, index: number, what: string): Problem {
  return {
    severity: 'warning',
    code: 'DEFINITION_INVALID',
    where: tool.unit,
    subject: `tool:${tool.name}`,
    field: `examples.${index}.input`,
    message: `Tool "${tool.name}": its own schema refuses example ${index + 1} ("${tool.examples[index]?.query}"): ${what}`,
    fix: 'Correct the example.',
  }
}

/**
 * Checks a resolver that was not made by `defineCapability`: it lists tools and names the MCP server that has them, and has no
 * handlers.
 */
export function checkResolver(resolver: CapabilityResolver, context: CheckContext): CatalogueCapability | undefined {
  const subject = `capability:${String(resolver.key)}`
  const before = context.problems.errors
  checkTexts({ name: resolver.key, title: resolver.key, short: resolver.key }, subject, context.problems)
  for (const tool of resolver.tools) checkTexts(tool, subject, context.problems)
  const schema = resolver.configSchema
  const config =
    schema && checkSchema(schema, { subject, field: 'configSchema', side: 'input', root: 'object', context })
  if (context.problems.errors > before) return undefined
  return {
    ...context.origin,
    key: resolver.key,
    title: resolver.key,
    short: resolver.key,
    descriptors: resolver.tools.map(({ name, title, short }) => ({ name, title, short })),
    tools: [],
    prompts: [],
    resources: [],
    hidden: [],
    unseen: undefined,
    inward: false,
    configSchema: config?.described,
    validateConfig: config?.validate,
    resolver,
    hash: context.deps.digest(JSON.stringify([resolver.key, resolver.tools, schema])),
    position: 0,
  }
}

/** Whether a problem is about this unit, at any of its lines. */
export function concernsUnit({ where }: Problem, unit: string): boolean {
  return where === unit || (where.startsWith(`${unit}:`) && /^\d+$/.test(where.slice(unit.length + 1)))
}

/** Collects the problems of one unit, so that all are reported at once. */
export class ProblemList {
  readonly all: Problem[]
  readonly #where: string
  readonly #severity: Problem['severity']
  readonly #lines: Readonly<Record<string, number>>

  constructor(
    where: string,
    already: readonly Problem[] = [],
    severity: Problem['severity'] = 'error',
    lines: Readonly<Record<string, number>> = {},
  ) {
    this.#where = where
    this.#lines = lines
    this.#severity = severity
    this.all = [...already]
    this.errors = already.filter(problem => problem.severity === 'error').length
  }

  /** Number of problems that reject a definition. Kept as a counter because it is read for every definition. */
  errors: number

  add(subject: string, field: string, message: string, fix?: string): void {
    this.errors++
    const problem = this.#problem(this.#severity, subject, field, message)
    this.all.push(fix === undefined ? problem : { ...problem, fix })
  }

  /** Reports a problem that does not reject the definition. */
  warn(subject: string, field: string, message: string): void {
    this.all.push(this.#problem('warning', subject, field, message))
  }

  take({ all, errors }: ProblemList): void {
    this.errors += errors
    this.all.push(...all)
  }

  #problem(severity: Problem['severity'], subject: string, field: string, message: string): Problem {
    const text = `${subject.replace(':', ' "')}": ${field} ${/[.!?]$/.test(message) ? message : `${message}.`}`
    const line = this.#lines[field.split('.')[0] ?? '']
    const where = line === undefined ? this.#where : `${this.#where}:${line}`
    return { severity, code: 'DEFINITION_INVALID', where, subject, field, message: text }
  }

  addIssues(
    subject: string,
    field: string,
    issues: readonly { path: readonly PropertyKey[]; message: string }[],
  ): void {
    for (const issue of issues.slice(0, MOST_ISSUES))
      this.add(subject, [field, ...issue.path].filter(part => part !== '').join('.'), issuePredicate(issue))
    const more = issues.length - MOST_ISSUES
    if (more > 0) this.add(subject, field, `has ${more} more things that are wrong`)
  }
}
