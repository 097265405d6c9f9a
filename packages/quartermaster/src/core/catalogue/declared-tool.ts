import { type DeclarationFacts, type JsonSchema, messageOf, type Problem } from '../../contracts/index.ts'
import { canonicalJson, didYouMean, type Steps } from '../kernel/index.ts'
import { checkTool } from './check-tool.ts'
import { type CheckedUnit, checkDependency, describeTool, WRONG_DEFINITION, wrongTool } from './check-unit.ts'
import { type CheckContext, type CheckDeps, ProblemList } from './checks.ts'
import { definitionProblem } from './compose-parts.ts'
import {
  createReport,
  type DeclarationReport,
  type DeclaredInput,
  declaredFacts,
  declaredInput,
} from './declared-input.ts'
import { defineCapability, titleFrom } from './define.ts'
import { type OpContext, type OpFault, type OpUse } from './definitions.ts'
import {
  byPrecedence,
  type CatalogueCapability,
  type CatalogueOp,
  type Declaration,
  type Dependency,
  type Knowledge,
  type Tool,
} from './generation.ts'
import { type PairedSchema, type Validated } from './schema.ts'
import { type AnyTool, type CallContext } from './tool.ts'

interface DeclaredTool {
  readonly tool: Tool | undefined
  readonly dependencies: readonly Dependency[]
  readonly problems: readonly Problem[]
}

interface ValidDeclaration extends Declaration {
  readonly facts: DeclarationFacts
}

/** Builds the tool of a declaration from its op, or reports everything that is wrong. */
function declaredTool(declaration: ValidDeclaration, op: CatalogueOp, deps: CheckDeps): DeclaredTool {
  const problems = new ProblemList(declaration.unit, [], 'error', declaration.lines?.fields)
  const report = createReport(`declaration:${declaration.path}`, problems, deps)
  try {
    return { ...build(declaration, op, report, problems), problems: problems.all }
  } catch (error) {
    // An op's own code runs here and must break only its own declarations.
    report.add('op', `cannot be used: "${op.id}" failed with: ${messageOf(error)}`)
    return { tool: undefined, dependencies: [], problems: problems.all }
  }
}

function build(
  declaration: ValidDeclaration,
  op: CatalogueOp,
  report: DeclarationReport,
  problems: ProblemList,
): Omit<DeclaredTool, 'problems'> {
  const { facts, unit, source } = declaration
  const { deps } = report
  const codeHash = deps.digest([declaration.hash, op.hash].join('\n'))
  // What a call runs, without the text of the page.
  const sources = deps.digest(canonicalJson([op.id, op.code, facts.with, facts.fixed]))
  const origin = { unit, source }
  const context: CheckContext = { kind: 'declaration', origin, unitHash: codeHash, sources, problems, deps }
  const settings = settingsOf(facts, op, report)
  const input = declaredInput(facts, op, report)
  checkExamples(facts, input.schema, report)
  if (problems.errors > 0 || !settings.ok) {
    reportOtherFaults(op, facts, settings, input.schema, report)
    return { tool: undefined, dependencies: [] }
  }
  const use = { settings: settings.value, parameters: input.schema } as OpUse<never>
  for (const { field, message } of op.definition.check?.(use) ?? []) report.add(field, message)
  const dependencies = dependenciesOf(op, use, context)
  const said = { ...op.facts, ...op.definition.facts?.(use) }
  const safety = declaredFacts(facts, said, report)
  const needed = dependencies.map(({ name }) => name)
  const definition: AnyTool = {
    ...textsOf(declaration),
    ...safety,
    requires: [...new Set([...(safety.requires ?? []), ...needed])],
    effects: facts.effects,
    input: inputOf(input, op, deps),
    ...(op.definition.output ? { output: op.definition.output } : {}),
    handler: (input, context: CallContext<never>) =>
      op.definition.handler(input, withSettings(context, settings.value)),
  }
  const bundle = { key: declaration.capability, requires: [], effectKinds: [] }
  const tool = checkTool(definition, bundle, context, { opId: op.id, body: declaration.body, lines: declaration.lines })
  return problems.errors > 0 ? { tool: undefined, dependencies: [] } : { tool, dependencies }
}

/** Reports the op's faults about valid settings too, so that all problems are reported at once. */
function reportOtherFaults(
  op: CatalogueOp,
  facts: DeclarationFacts,
  settings: Validated,
  parameters: JsonSchema,
  report: DeclarationReport,
): void {
  const wrong = settings.ok ? [] : settings.issues.map(({ path }) => String(path[0]))
  const rest = without(facts.with ?? {}, wrong)
  const checked = settings.ok ? settings : op.settings?.validate(rest)
  if (!checked || checked instanceof Promise || !checked.ok || (!settings.ok && wrong.length === 0)) return
  for (const { field, message } of opFaults(op, { settings: checked.value, parameters } as OpUse<never>))
    if (wrong.length === 0 || Object.keys(rest).some(name => `${field}.`.startsWith(`with.${name}.`)))
      report.add(field, message)
}

/** The op's `check` need not handle invalid settings. */
function opFaults(op: CatalogueOp, use: OpUse<never>): readonly OpFault[] {
  try {
    return op.definition.check?.(use) ?? []
  } catch {
    // It runs again, and then may fail loudly, once the settings are valid.
    return []
  }
}

function settingsOf(facts: DeclarationFacts, op: CatalogueOp, report: DeclarationReport): Validated {
  if (!op.settings) {
    if (facts.with !== undefined) report.add('with', `is not used by "${op.id}"; remove it`)
    return { ok: true, value: undefined }
  }
  const given = facts.with ?? {}
  const { known, unknown } = splitSettings(given, op.settings.described)
  for (const name of unknown) {
    const meant = didYouMean(name, known) || ` It has ${known.join(', ') || 'none'}.`
    report.add(`with.${name}`, `is no setting of "${op.id}".${meant}`)
  }
  const checked = op.settings.validate(without(given, unknown))
  if (checked instanceof Promise) {
    // The promise is not awaited, so its rejection has no other handler.
    checked.catch(() => {})
    report.add('op', `cannot be used: the settings of "${op.id}" are not checked at once`)
    return { ok: false, issues: [] }
  }
  if (!checked.ok) report.addIssues('with', checked.issues)
  if (unknown.length === 0) return checked
  const issues = unknown.map(name => ({ path: [name], message: 'is no setting' }))
  return { ok: false, issues: [...issues, ...(checked.ok ? [] : checked.issues)] }
}

function without(settings: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !names.includes(name)))
}

/** Many schema libraries ignore unknown keys; here an unknown key is a typo. */
function splitSettings(settings: object, { properties, additionalProperties: others }: JsonSchema) {
  const known = Object.keys((properties ?? {}) as object)
  const isClosed = properties !== undefined && (others === undefined || others === false)
  return { known, unknown: isClosed ? Object.keys(settings).filter(name => !known.includes(name)) : [] }
}

function checkExamples({ examples }: DeclarationFacts, schema: JsonSchema, report: DeclarationReport): void {
  if (examples.length === 0 || report.deps.compiler.check(schema).length > 0) return
  const validate = report.deps.compiler.compile(schema)
  for (const [index, { input }] of examples.entries()) {
    const checked = validate(input)
    if (!checked.ok) report.addIssues(`examples.${index}.input`, checked.issues)
  }
}

function dependenciesOf(op: CatalogueOp, use: OpUse<never>, context: CheckContext): Dependency[] {
  const named = new Map((op.definition.dependencies?.(use) ?? []).map(one => [one.name, one]))
  // Hashed by op rather than by file, so that tools of several files share a dependency.
  return [...named.values()].flatMap(one => checkDependency(one, { ...context, unitHash: op.hash }) ?? [])
}

function textsOf({ name, section, facts }: ValidDeclaration) {
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

/** Validates the caller's input as declared, and then, with defaults and fixed values, as the op requires. */
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

/** Getters of the context are evaluated lazily, so they are forwarded rather than copied. */
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

export type Declare = (units: readonly CheckedUnit[], ops: ReadonlyMap<string, CatalogueOp>) => Declared

export interface Declared {
  /** By the first unit that declares a tool of the capability. */
  readonly capabilities: ReadonlyMap<CheckedUnit, readonly DeclaredCapability[]>
  readonly dependencies: readonly Dependency[]
  readonly problems: readonly Problem[]
}

interface DeclaredCapability {
  readonly capability: CatalogueCapability
  readonly declarations: readonly Declaration[]
}

interface Bundle {
  readonly unit: CheckedUnit
  readonly declarations: Declaration[]
  readonly tools: Tool[]
}

/** Makes tools of declarations, and one capability of all declarations that name it, across files. */
export function createDeclarer(deps: CheckDeps) {
  const toolOf = createToolMaker(deps)
  const declare: Declare = (units, ops) => compose(units, declaration => toolOf(declaration, ops), deps)
  return {
    declare,
    /** Does the slow part ahead, yielding after every tool so that other work can run. */
    *prepare(units: readonly CheckedUnit[]): Steps<void> {
      // Reversed, so that the first definition of an id wins.
      const ops = new Map(
        byPrecedence(units)
          .flatMap(unit => unit.ops)
          .toReversed()
          .map(op => [op.id, op]),
      )
      for (const declaration of units.flatMap(unit => unit.declarations)) yield toolOf(declaration, ops)
    },
  }
}

function compose(
  units: readonly CheckedUnit[],
  toolOf: (declaration: Declaration) => DeclaredTool,
  deps: CheckDeps,
): Declared {
  const bundles = new Map<string, Bundle>()
  const dependencies = new Map<string, Dependency>()
  const problems: Problem[] = []
  for (const unit of units) {
    for (const declaration of unit.declarations) {
      const made = toolOf(declaration)
      const bundle = bundles.get(declaration.capability) ?? { unit, declarations: [], tools: [] }
      bundles.set(declaration.capability, bundle)
      bundle.declarations.push(declaration)
      if (made.tool) bundle.tools.push(made.tool)
      // Tools that need the same secret share its dependency.
      for (const one of made.dependencies) dependencies.set(`${one.name}\n${one.hash}`, one)
      problems.push(...made.problems)
    }
  }
  const pages = new Map(units.flatMap(unit => unit.knowledge.map(page => [page.path, page] as const)))
  const capabilities = new Map<CheckedUnit, DeclaredCapability[]>()
  for (const [key, bundle] of bundles) {
    const capability = capabilityOf(key, bundle, { pages, deps })
    const all = capabilities.get(bundle.unit) ?? []
    capabilities.set(bundle.unit, [...all, { capability, declarations: bundle.declarations }])
  }
  return { capabilities, dependencies: [...dependencies.values()], problems }
}

const NOTHING: DeclaredTool = { tool: undefined, dependencies: [], problems: [] }

/** Rebuilds a declared tool only when the declaration or its op has changed. */
function createToolMaker(deps: CheckDeps) {
  const known = new WeakMap<Declaration, { readonly op: CatalogueOp; readonly made: DeclaredTool }>()
  return (declaration: Declaration, ops: ReadonlyMap<string, CatalogueOp>): DeclaredTool => {
    const { facts } = declaration
    // Its own problems were reported when it was read.
    if (!facts) return NOTHING
    const op = ops.get(facts.op)
    if (!op) return { ...NOTHING, problems: [noSuchOp(declaration, facts.op, ops)] }
    const before = known.get(declaration)
    if (before?.op === op) return before.made
    const made = declaredTool({ ...declaration, facts }, op, deps)
    known.set(declaration, { op, made })
    return made
  }
}

function noSuchOp(declaration: Declaration, id: string, ops: ReadonlyMap<string, CatalogueOp>): Problem {
  const subject = `declaration:${declaration.path}`
  const text = `declaration "${declaration.path}": op "${id}" is not registered.${didYouMean(id, ops.keys())}`
  const fix = 'Correct the id, or export what registerOp gives from a file in capabilities/.'
  const line = declaration.lines?.fields.op
  const where = line === undefined ? declaration.unit : `${declaration.unit}:${line}`
  return { ...definitionProblem(declaration, subject, 'op', text), where, fix }
}

const MOST_SHORT = 1024

function capabilityOf(
  key: string,
  { declarations, tools }: Bundle,
  { pages, deps }: { pages: ReadonlyMap<string, Knowledge>; deps: CheckDeps },
): CatalogueCapability {
  const [first] = declarations as [Declaration, ...Declaration[]]
  const page = pages.get(folderOf(first.path, key) ?? key)
  const title = page?.title ?? titleFrom(key)
  const short = page?.summary ?? shortOf(tools, title)
  const sound = new Set(tools.map(({ name }) => name))
  const wrong = declarations.filter(({ name }) => !sound.has(name))
  return {
    source: first.source,
    unit: first.unit,
    key,
    title,
    short,
    descriptors: tools.map(describeTool),
    tools,
    prompts: [],
    resources: [],
    hidden: wrong.map(({ name }) => wrongTool({ name }, WRONG_DEFINITION)),
    unseen: undefined,
    inward: false,
    configSchema: undefined,
    validateConfig: undefined,
    resolver: defineCapability({ key, title, short, tools: [] }),
    hash: deps.digest([key, title, short, ...declarations.map(({ hash }) => hash)].join('\n')),
    position: 0,
  }
}

/** The folder of a file, if the capability is named after it. */
function folderOf(path: string, key: string): string | undefined {
  const folders = path.split('/').slice(0, -1)
  return folders.at(-1) === key ? folders.join('/') : undefined
}

/** Describes a capability by its tools when its folder has no page. */
function shortOf(tools: readonly Tool[], title: string): string {
  const text = tools.length === 0 ? `${title}.` : `${tools.map(tool => tool.title).join(', ')}.`
  return text.length <= MOST_SHORT ? text : `${text.slice(0, MOST_SHORT - 1)}…`
}
