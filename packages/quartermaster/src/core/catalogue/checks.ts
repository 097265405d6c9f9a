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
  UnitFacts,
  UnitPath,
} from '../../contracts/index.ts'
import { commandParameters, type Digest, didYouMean } from '../kernel/index.ts'
import { type Capability, type CapabilityResolver, type EffectChecker, type EffectDefinition } from './definitions.ts'
import {
  type CatalogueCapability,
  type Generation,
  type Knowledge,
  type Origin,
  type SourceKind,
  type Tool,
  type WrittenUnit,
} from './generation.ts'
import { ProblemList } from './problem-list.ts'
import {
  describeSchema,
  type SchemaCompiler,
  type SchemaLike,
  type SchemaSide,
  type Validate,
  validatorOf,
} from './schema.ts'

const Texts = z.object({ name: Name, title: z.string().min(1).max(100), short: z.string().min(1).max(1024) })

/** Checks the words that every definition has. */
export function checkTexts(
  texts: Record<'name' | 'title' | 'short', unknown>,
  subject: string,
  problems: ProblemList,
): void {
  const parsed = Texts.safeParse(texts)
  if (!parsed.success) problems.addIssues(subject, '', parsed.error.issues)
}

/** Reports fields that no definition of this kind has; a misspelled `requires` would otherwise be silently ignored. */
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

/** Fields that had another name in earlier drafts of the definitions. */
const RENAMED: Readonly<Record<string, string>> = { mend: 'fix' }

function renamedTo(key: string, known: readonly string[]): string | undefined {
  const name = Object.hasOwn(RENAMED, key) ? RENAMED[key] : undefined
  return name !== undefined && known.includes(name) ? ` It is called "${name}".` : undefined
}

/** Reports fields that must be lists and are not; `false` then. */
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

/** Both lists; what is no list is passed on as it is, for the check to say so. */
export function unionOf(first: readonly string[], second: unknown): unknown {
  if (!Array.isArray(second) || first.length === 0) return second
  return [...new Set([...first, ...second])]
}

interface SchemaPlace {
  readonly subject: string
  readonly field: string
  readonly side: SchemaSide
  /** The type the root must have. */
  readonly root?: 'object'
  readonly place: UnitPlace
}

/** Describes a schema and looks whether it is one; `undefined` after having said what is wrong. */
export function checkSchema(
  schema: SchemaLike,
  at: SchemaPlace,
): { described: JsonSchema; validate: Validate } | undefined {
  const { problems, deps } = at.place
  try {
    if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null)
      throw new TypeError('must be a schema')
    const written = at.place.kind === 'upstream' ? withRoot(schema, at.root) : schema
    const given = describeSchema(written, at.side)
    const { described, issues, usable } =
      at.place.kind === 'upstream' ? leniently(given, at) : strictly(given, written, deps)
    if (at.root && described.type !== at.root) issues.push({ path: ['type'], message: `must be "${at.root}"` })
    if (issues.length === 0) return { described, validate: validatorOf(usable, at.side, deps.compiler) }
    problems.addIssues(at.subject, at.field, issues)
  } catch (error) {
    problems.add(at.subject, at.field, messageOf(error))
  }
  return undefined
}

interface Checked {
  /** What clients are shown. */
  readonly described: JsonSchema
  readonly issues: Issue[]
  /** What values are checked against. */
  readonly usable: SchemaLike
}

function strictly(described: JsonSchema, schema: SchemaLike, { compiler }: CheckDeps): Checked {
  return { described, issues: compiler.check(described), usable: schema }
}

/** How many parts of one schema are named that are not checked. */
const MOST_UNCHECKED = 3

/**
 * Most schemas of others are right as they are. One that is not is translated, and its parts that nothing here understands are left
 * to its server: a tool that clients can call there is not to be missing here. Clients are shown what they can take as well.
 */
function leniently(given: JsonSchema, { subject, field, place: { problems, deps } }: SchemaPlace): Checked {
  if (deps.compiler.check(given).length === 0) return { described: given, issues: [], usable: given }
  const { schema, unchecked } = deps.compiler.accept(given)
  for (const { path, message } of unchecked.slice(0, MOST_UNCHECKED))
    problems.warn(subject, [field, ...path].join('.'), `is left to the server to check: ${message}`)
  const more = unchecked.length - MOST_UNCHECKED
  if (more > 0) problems.warn(subject, field, `has ${more} more parts that are left to the server to check`)
  return { described: schema, issues: [], usable: schema }
}

/** Many servers leave the type out, or give `{}` for a tool that takes nothing. */
function withRoot(schema: SchemaLike, root: 'object' | undefined): SchemaLike {
  return root && (schema as JsonSchema).type === undefined ? { type: root, ...(schema as JsonSchema) } : schema
}

/** What checking definitions needs to know. */
export interface CheckDeps {
  readonly compiler: SchemaCompiler
  readonly digest: Digest
  readonly settings: Pick<Settings, 'callTimeoutSeconds' | 'maxResultBytes'>
  /** Effect kinds that something here can verify, by name. */
  readonly effectKinds: ReadonlyMap<string, EffectChecker>
  /** The same for a kind that a capability brings. */
  readonly ownEffectKind: (definition: EffectDefinition) => EffectChecker
}

/** What the definitions being checked belong to. */
export type Bundle = Pick<Capability, 'key' | 'requires' | 'effectKinds'>

/** The unit whose definitions are being checked. */
export interface UnitPlace {
  /** What someone else wrote is read more leniently. */
  readonly kind: SourceKind
  readonly origin: Origin
  readonly unitHash: string
  /** As in `SourceUnit`. */
  readonly sources?: string | undefined
  readonly problems: ProblemList
  readonly deps: CheckDeps
  /** Since when an upstream has its addresses, where it has any. */
  readonly claimed?: ReadonlyMap<string, number>
}

/** Whether the arguments that a command names are parameters, and can be written without their names. */
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
 * Examples that their own tool would refuse. Not part of loading, because it compiles every schema that has examples;
 * a wrong example misleads, but it breaks nothing.
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

const FIELDS = Object.keys(UnitFacts.shape)

/** Checks one piece of written knowledge. A bad one is left out, with everything that is wrong with it in the problems. */
export function checkKnowledge({ path, front, body, lines }: WrittenUnit, place: UnitPlace): Knowledge | undefined {
  const { kind, origin, deps } = place
  const subject = `unit:${path}`
  const problems = new ProblemList(origin.unit, [], 'error', lines?.fields)
  const named = UnitPath.safeParse(path)
  if (!named.success) problems.addIssues(subject, 'path', named.error.issues)
  checkFields(front, FIELDS, subject, problems)
  const known = Object.fromEntries(Object.entries(front).filter(([field]) => FIELDS.includes(field)))
  const facts = UnitFacts.safeParse(known)
  if (!facts.success)
    problems.addIssues(
      subject,
      '',
      facts.error.issues.map(issue => inWords(issue, known)),
    )
  place.problems.take(problems)
  if (problems.errors > 0 || !facts.success) return undefined
  const isBuiltin = kind === 'builtin'
  // Of its own problems, and not those of its whole unit: a reader may see this one alone.
  const hash = deps.digest(JSON.stringify([path, facts.data, body, lines]))
  return Object.freeze({ ...origin, ...facts.data, path, isBuiltin, body, lines, hash })
}

type FactsIssue = z.core.$ZodIssue

/** What is wrong, for people who write Markdown and have never heard of a schema. */
function inWords(issue: FactsIssue, known: Readonly<Record<string, unknown>>): FactsIssue {
  if (issue.code === 'custom') return issue
  const { path } = issue
  if (path.length === 1 && known[String(path[0])] === undefined) return { ...issue, message: 'is needed' }
  if (issue.code === 'invalid_value') return { ...issue, message: `must be one of ${issue.values.join(', ')}` }
  if (issue.code === 'invalid_type') return { ...issue, message: `must be ${TYPES[issue.expected] ?? issue.expected}` }
  if (issue.code === 'too_big') return { ...issue, message: `is longer than ${issue.maximum}` }
  if (issue.code === 'too_small') return { ...issue, message: 'is empty' }
  return issue
}

const TYPES: Readonly<Record<string, string>> = { string: 'a text', array: 'a list' }

/**
 * A resolver that was not made by `defineCapability`: it says which tools there are and which MCP server has them.
 * It has nothing to call by itself.
 */
export function checkForeignResolver(resolver: CapabilityResolver, place: UnitPlace): CatalogueCapability | undefined {
  const subject = `capability:${String(resolver.key)}`
  const before = place.problems.errors
  checkTexts({ name: resolver.key, title: resolver.key, short: resolver.key }, subject, place.problems)
  for (const tool of resolver.tools) checkTexts(tool, subject, place.problems)
  const schema = resolver.configSchema
  const config = schema && checkSchema(schema, { subject, field: 'configSchema', side: 'input', root: 'object', place })
  if (place.problems.errors > before) return undefined
  return {
    ...place.origin,
    key: resolver.key,
    title: resolver.key,
    short: resolver.key,
    descriptors: resolver.tools.map(({ name, title, short }) => ({ name, title, short })),
    tools: [],
    prompts: [],
    resources: [],
    leftOut: [],
    unseen: undefined,
    inward: false,
    configSchema: config?.described,
    validateConfig: config?.validate,
    resolver,
    hash: place.deps.digest(JSON.stringify([resolver.key, resolver.tools, schema])),
    position: 0,
  }
}
