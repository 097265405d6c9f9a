import { type DeclarationFacts, type JsonSchema, messageOf, type Problem } from '../../contracts/index.ts'
import { canonicalJson, didYouMean } from '../kernel/index.ts'
import { checkDependency } from './check-dependency.ts'
import { checkTool } from './check-tool.ts'
import type { CheckDeps, UnitPlace } from './checks.ts'
import {
  type DeclaredInput,
  type DeclaredPlace,
  declaredFacts,
  declaredInput,
  declaredPlace,
} from './declared-input.ts'
import { titleFrom } from './define.ts'
import type { OpContext, OpFault, OpUse } from './definitions.ts'
import { type CatalogueOp, type Declaration, type Dependency, type Tool } from './generation.ts'
import { ProblemList } from './problem-list.ts'
import type { PairedSchema, Validated } from './schema.ts'
import type { AnyTool, CallContext } from './tool.ts'

/** What became of a declaration with its op. */
export interface DeclaredTool {
  /** Nothing where something is wrong. */
  readonly tool: Tool | undefined
  /** What the op says that it needs, for what is declared. */
  readonly dependencies: readonly Dependency[]
  readonly problems: readonly Problem[]
}

interface Sound extends Declaration {
  readonly facts: DeclarationFacts
}

/** Makes the tool that a declaration wants of its op, or says everything that is in the way. */
export function declaredTool(declaration: Sound, op: CatalogueOp, deps: CheckDeps): DeclaredTool {
  const problems = new ProblemList(declaration.unit, [], 'error', declaration.lines?.fields)
  const at = declaredPlace(`declaration:${declaration.path}`, problems, deps)
  try {
    return { ...build(declaration, op, { at, problems }), problems: problems.all }
  } catch (error) {
    // The code of an op is asked here, and it must spoil nothing but its own declarations.
    at.add('op', `cannot be used: "${op.id}" failed with: ${messageOf(error)}`)
    return { tool: undefined, dependencies: [], problems: problems.all }
  }
}

interface Building {
  readonly at: DeclaredPlace
  readonly problems: ProblemList
}

function build(declaration: Sound, op: CatalogueOp, { at, problems }: Building): Omit<DeclaredTool, 'problems'> {
  const { facts, unit, source } = declaration
  const { deps } = at
  const codeHash = deps.digest([declaration.hash, op.hash].join('\n'))
  // What a call runs, without the page around it.
  const sources = deps.digest(canonicalJson([op.id, op.code, facts.with, facts.fixed]))
  const place: UnitPlace = {
    kind: 'declaration',
    origin: { unit, source },
    unitHash: codeHash,
    sources,
    problems,
    deps,
  }
  const settings = settingsOf(facts, op, at)
  const input = declaredInput(facts, op, at)
  checkExamples(facts, input.schema, at)
  if (problems.errors > 0 || !settings.ok) {
    hearRest(op, { facts, settings, parameters: input.schema, at })
    return { tool: undefined, dependencies: [] }
  }
  const use = { settings: settings.value, parameters: input.schema } as OpUse<never>
  for (const { field, message } of op.definition.check?.(use) ?? []) at.add(field, message)
  const dependencies = dependenciesOf(op, use, place)
  const said = { ...op.facts, ...op.definition.facts?.(use) }
  const safety = declaredFacts(facts, said, at)
  const needed = dependencies.map(({ name }) => name)
  const definition: AnyTool = {
    ...textsOf(declaration),
    ...safety,
    requires: [...new Set([...(safety.requires ?? []), ...needed])],
    effects: facts.effects,
    input: inputOf(input, op, deps),
    ...(op.definition.output ? { output: op.definition.output } : {}),
    handler: handlerOf(op, settings.value),
  }
  const bundle = { key: declaration.capability, requires: [], effectKinds: [] }
  const tool = checkTool(definition, bundle, place, { opId: op.id, body: declaration.body, lines: declaration.lines })
  return problems.errors > 0 ? { tool: undefined, dependencies: [] } : { tool, dependencies }
}

interface Wrong {
  readonly facts: DeclarationFacts
  readonly settings: Validated
  readonly parameters: JsonSchema
  readonly at: DeclaredPlace
}

/** What an op says about the valid settings, so that all problems are reported at once. */
function hearRest(op: CatalogueOp, { facts, settings, parameters, at }: Wrong): void {
  const wrong = settings.ok ? [] : settings.issues.map(({ path }) => String(path[0]))
  const rest = without(facts.with ?? {}, wrong)
  const checked = settings.ok ? settings : op.settings?.validate(rest)
  if (!checked || checked instanceof Promise || !checked.ok || (!settings.ok && wrong.length === 0)) return
  for (const { field, message } of soundFaults(op, { settings: checked.value, parameters } as OpUse<never>))
    if (wrong.length === 0 || Object.keys(rest).some(name => isWithin(field, `with.${name}`))) at.add(field, message)
}

/** The code of an op need not get along with what is wrong. */
function soundFaults(op: CatalogueOp, use: OpUse<never>): readonly OpFault[] {
  try {
    return op.definition.check?.(use) ?? []
  } catch {
    // It is asked again when the rest is right, and then its word counts.
    return []
  }
}

function isWithin(field: string, outer: string): boolean {
  return field === outer || field.startsWith(`${outer}.`)
}

function settingsOf(facts: DeclarationFacts, op: CatalogueOp, at: DeclaredPlace): Validated {
  if (!op.settings) {
    if (facts.with !== undefined) at.add('with', `is nothing that "${op.id}" has a use for; leave it out`)
    return { ok: true, value: undefined }
  }
  const given = facts.with ?? {}
  const { known, unknown } = sorted(given, op.settings.described)
  for (const name of unknown) {
    const meant = didYouMean(name, known) || ` It has ${known.join(', ') || 'none'}.`
    at.add(`with.${name}`, `is no setting of "${op.id}".${meant}`)
  }
  const checked = op.settings.validate(without(given, unknown))
  if (checked instanceof Promise) {
    // Its result is not waited for.
    checked.catch(() => {})
    at.add('op', `cannot be used: the settings of "${op.id}" are not checked at once`)
    return { ok: false, issues: [] }
  }
  if (!checked.ok) at.addIssues('with', checked.issues)
  if (unknown.length === 0) return checked
  const issues = unknown.map(name => ({ path: [name], message: 'is no setting' }))
  return { ok: false, issues: [...issues, ...(checked.ok ? [] : checked.issues)] }
}

function without(settings: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !names.includes(name)))
}

/** Many libraries ignore unknown keys; here an unknown key is a misspelled word. */
function sorted(settings: object, { properties, additionalProperties: others }: JsonSchema) {
  const known = Object.keys((properties ?? {}) as object)
  const isClosed = properties !== undefined && (others === undefined || others === false)
  return { known, unknown: isClosed ? Object.keys(settings).filter(name => !known.includes(name)) : [] }
}

function checkExamples({ examples }: DeclarationFacts, schema: JsonSchema, at: DeclaredPlace): void {
  if (examples.length === 0 || at.deps.compiler.check(schema).length > 0) return
  const validate = at.deps.compiler.compile(schema)
  for (const [index, { input }] of examples.entries()) {
    const checked = validate(input)
    if (!checked.ok) at.addIssues(`examples.${index}.input`, checked.issues)
  }
}

function dependenciesOf(op: CatalogueOp, use: OpUse<never>, place: UnitPlace): Dependency[] {
  const named = new Map((op.definition.dependencies?.(use) ?? []).map(one => [one.name, one]))
  // Known by the op and not by the file, so that the tools of several files can share one.
  return [...named.values()].flatMap(one => checkDependency(one, { ...place, unitHash: op.hash }) ?? [])
}

function textsOf({ name, section, facts }: Sound) {
  const { title, short, whenToUse, icon, search, examples, command } = facts
  return {
    name,
    title: title ?? titleFrom(name),
    short,
    section,
    examples,
    ...(whenToUse === undefined ? {} : { whenToUse }),
    ...(icon === undefined ? {} : { icon }),
    ...(search === undefined ? {} : { search }),
    ...(command === undefined ? {} : { command }),
  }
}

/** What callers give is checked as it was declared, and then, with what is given for them, as the op wants it. */
function inputOf({ schema, given }: DeclaredInput, op: CatalogueOp, { compiler }: CheckDeps): PairedSchema {
  const validate = (value: unknown) => {
    const declared = compiler.compile(schema)(value)
    if (!declared.ok) return { issues: declared.issues }
    const whole = { ...given, ...(declared.value as object) }
    const checked = op.input ? op.input.validate(whole) : { ok: true as const, value: whole }
    return checked instanceof Promise ? checked.then(toStandard) : toStandard(checked)
  }
  return { schema: { '~standard': { version: 1, vendor: 'quartermaster', validate } }, jsonSchema: schema }
}

function toStandard(checked: Validated) {
  return checked.ok ? { value: checked.value } : { issues: checked.issues }
}

function handlerOf({ definition }: CatalogueOp, settings: unknown): AnyTool['handler'] {
  return (input, context: CallContext<never>) => definition.handler(input, withSettings(context, settings))
}

/** Some of a context is found out when it is asked for, so that is asked of the context itself, and then. */
function withSettings(context: CallContext<never>, settings: unknown): OpContext<never> {
  return {
    ...context,
    settings: settings as never,
    get signal() {
      return context.signal
    },
    get deadline() {
      return context.deadline
    },
    get log() {
      return context.log
    },
  }
}
