import { z } from 'zod'
import {
  AppError,
  ConsentOperation,
  InjectionMode,
  Name,
  OpId,
  type Problem,
  type ToolDescriptor,
  ToolFacts,
} from '../../contracts/index.ts'
import { canonicalJson } from '../kernel/index.ts'
import { checkPrompt, checkResource } from './check-mcp.ts'
import { checkEffectKinds, checkTool } from './check-tool.ts'
import { checkDeclaration, checkKnowledge } from './check-written.ts'
import {
  type Bundle,
  type CheckContext,
  type CheckDeps,
  checkFields,
  checkLists,
  checkSchema,
  checkTexts,
  ProblemList,
} from './checks.ts'
import {
  type Capability,
  type ConsentOperationDefinition,
  type DependencyDefinition,
  type Injection,
  type Op,
  type OpFacts,
  type Probe,
  type WithheldTool,
} from './definitions.ts'
import {
  type CatalogueCapability,
  type CatalogueInjection,
  type CatalogueOp,
  type Declaration,
  type Dependency,
  isDeclaration,
  type Knowledge,
  type NameClaim,
  type Origin,
  type SourceKind,
  type SourceUnit,
  type Tool,
} from './generation.ts'
import { type AnyTool } from './tool.ts'

/** A unit whose own definitions were checked. References between units are checked when a generation is composed. */
export interface CheckedUnit extends Origin {
  readonly kind: SourceKind
  readonly hash: string
  readonly capabilities: readonly CatalogueCapability[]
  readonly injections: readonly CatalogueInjection[]
  readonly dependencies: readonly Dependency[]
  readonly consentOperations: readonly ConsentOperationDefinition[]
  readonly knowledge: readonly Knowledge[]
  readonly ops: readonly CatalogueOp[]
  /** Declared tools; whether they work depends on the ops that exist. */
  readonly declarations: readonly Declaration[]
  readonly claims: readonly NameClaim[]
  readonly problems: readonly Problem[]
}

export type LoadedUnit = Extract<SourceUnit, { hash: string }>

/** Checks one unit, yielding after every tool so that the caller can let other work run. */
export function* checkUnit(
  unit: LoadedUnit,
  from: { source: string; kind: SourceKind },
  deps: CheckDeps,
): Generator<void, CheckedUnit, void> {
  const origin: Origin = { source: from.source, unit: unit.id }
  // Definitions of a foreign server cannot be fixed here, and one wrong tool must not reject the others.
  const problems = new ProblemList(unit.id, unit.problems, from.kind === 'upstream' ? 'warning' : 'error')
  const { claims = [] } = unit
  const addresses = claims.filter(({ kind }) => kind === 'resource')
  const claimed = new Map(addresses.map(({ name, since }) => [name, since]))
  const { hash: unitHash, sources } = unit
  const context: CheckContext = { kind: from.kind, origin, unitHash, sources, problems, deps, claimed }
  const capabilities: CatalogueCapability[] = []
  const injections: CatalogueInjection[] = []
  const written = [...unit.definitions.dependencies]
  const consentOperations: ConsentOperationDefinition[] = []
  for (const definition of unit.definitions.capabilities) {
    const capability = yield* checkCapability(definition, context)
    if (!capability) continue
    capabilities.push(capability)
    written.push(...definition.dependencies)
    consentOperations.push(...checkConsentOperations(definition, problems))
  }
  for (const definition of unit.definitions.injections) {
    const injection = yield* checkInjection(definition, context)
    if (injection) injections.push(injection)
  }
  const texts = unit.definitions.written ?? []
  const pages = texts.filter(one => !isDeclaration(one))
  const knowledge = yield* checkEach(pages, one => checkKnowledge(one, context))
  const declarations = yield* checkEach(texts.filter(isDeclaration), one => checkDeclaration(one, context))
  for (const { facts } of declarations)
    consentOperations.push(...(facts?.consent ?? []).filter(one => typeof one === 'object'))
  const ops = yield* checkEach(unit.definitions.ops ?? [], one => checkOp(one, context))
  const dependencies = [...new Set(written)].flatMap(one => checkDependency(one, context) ?? [])
  return {
    ...origin,
    kind: from.kind,
    hash: unit.hash,
    capabilities,
    injections,
    dependencies,
    consentOperations,
    knowledge,
    ops,
    declarations,
    claims,
    problems: problems.all,
  }
}

/** Valid dependencies of a unit. Cheap, and never throws: `checkUnit` reports the problems. */
export function dependenciesOf(
  unit: LoadedUnit,
  source: { id: string; kind: SourceKind },
  deps: CheckDeps,
): Dependency[] {
  const context: CheckContext = {
    kind: source.kind,
    origin: { source: source.id, unit: unit.id },
    unitHash: unit.hash,
    problems: new ProblemList(unit.id),
    deps,
  }
  try {
    const { capabilities, dependencies } = unit.definitions
    const written = new Set([...dependencies, ...capabilities.flatMap(one => one.dependencies)])
    return [...written].flatMap(one => checkDependency(one, context) ?? [])
  } catch {
    return []
  }
}

const CAPABILITY_LISTS = [
  'tools',
  'prompts',
  'resources',
  'requires',
  'dependencies',
  'consentOperations',
  'effectKinds',
  'withheld',
  'gone',
  'unwanted',
]

function* checkCapability(
  capability: Capability,
  context: CheckContext,
): Generator<void, CatalogueCapability | undefined, void> {
  const subject = `capability:${String(capability.key)}`
  const before = context.problems.errors
  checkTexts({ name: capability.key, title: capability.title, short: capability.short }, subject, context.problems)
  const areLists = checkLists(capability, CAPABILITY_LISTS, subject, context.problems)
  if (areLists) checkEffectKinds(capability.effectKinds, subject, context)
  const config =
    capability.config &&
    checkSchema(capability.config, { subject, field: 'config', side: 'input', root: 'object', context })
  if (context.problems.errors > before) return undefined
  const tools = yield* checkEach(capability.tools, one => checkTool(one, capability, context))
  const prompts = yield* checkEach(capability.prompts, one => checkPrompt(one, capability, context))
  const resources = yield* checkEach(capability.resources, one => checkResource(one, capability, context))
  return {
    ...context.origin,
    key: capability.key,
    title: capability.title,
    short: capability.short,
    descriptors: tools.map(describeTool),
    tools,
    prompts,
    resources,
    hidden: unavailableTools(capability, tools, context),
    gone: removedWithAdvice(capability, context),
    unwanted: capability.unwanted,
    unseen: capability.unseen,
    inward: capability.inward === true,
    configSchema: config?.described,
    validateConfig: config?.validate,
    resolver: capability,
    hash: context.deps.digest([capability.key, capability.short, context.unitHash].join('\n')),
    position: 0,
  }
}

function* checkInjection(
  injection: Injection,
  context: CheckContext,
): Generator<void, CatalogueInjection | undefined, void> {
  const subject = `injection:${String(injection.key)}`
  const before = context.problems.errors
  checkTexts({ name: injection.key, title: injection.key, short: injection.short }, subject, context.problems)
  checkLists(injection, ['tools', 'modes'], subject, context.problems)
  const modes = z.array(InjectionMode).safeParse(injection.modes)
  if (!modes.success) context.problems.addIssues(subject, 'modes', modes.error.issues)
  if (context.problems.errors > before) return undefined
  const bundle: Bundle = { key: injection.key, requires: [], effectKinds: [] }
  const tools = yield* checkEach(injection.tools, one => checkTool(one, bundle, context))
  return { ...context.origin, injection, tools }
}

function* checkEach<D, T>(
  definitions: readonly D[],
  check: (definition: D) => T | undefined,
): Generator<void, T[], void> {
  const sound: T[] = []
  for (const definition of definitions) {
    const checked = check(definition)
    if (checked) sound.push(checked)
    yield
  }
  return sound
}

function checkConsentOperations(capability: Capability, problems: ProblemList): ConsentOperationDefinition[] {
  return capability.consentOperations.filter(operation => {
    const { scope, ...facts } = operation
    // The result of a scope function is known only at the call and is checked there.
    const parsed = ConsentOperation.safeParse(typeof scope === 'function' ? facts : operation)
    if (!parsed.success)
      problems.addIssues(`consent:${String(operation.name)}`, 'consentOperations', parsed.error.issues)
    return parsed.success
  })
}

/** Facts that an op omits are left to its declarations. */
const OpFactsSchema = ToolFacts.pick({
  mutates: true,
  idempotent: true,
  retry: true,
  requires: true,
  consent: true,
  timeoutMs: true,
  maxResultBytes: true,
  asTask: true,
})
  .partial()
  .extend({ short: ToolFacts.shape.short })
const FUNCTIONS = ['check', 'dependencies', 'facts'] as const
const SCHEMAS = ['settings', 'input', 'output'] as const
const OP_FIELDS = ['id', 'handler', 'revision', ...Object.keys(OpFactsSchema.shape), ...FUNCTIONS, ...SCHEMAS]

/** Checks one op. A bad op is left out, with all its problems reported. */
function checkOp(op: Op, context: CheckContext): CatalogueOp | undefined {
  const { problems } = context
  const subject = `op:${String(op.id)}`
  const before = problems.errors
  checkFields(op, OP_FIELDS, subject, problems)
  if (!Number.isInteger(op.revision ?? 1)) problems.add(subject, 'revision', 'must be a whole number')
  const id = OpId.safeParse(op.id)
  if (!id.success) problems.addIssues(subject, 'id', id.error.issues)
  const facts = OpFactsSchema.safeParse(
    Object.fromEntries(Object.entries(op).filter(([field]) => field in OpFactsSchema.shape)),
  )
  if (!facts.success) problems.addIssues(subject, '', facts.error.issues)
  if (typeof op.handler !== 'function') problems.add(subject, 'handler', 'must be a function')
  for (const name of FUNCTIONS)
    if (op[name] !== undefined && typeof op[name] !== 'function') problems.add(subject, name, 'must be a function')
  const at = { subject, context, root: 'object' } as const
  const settings = op.settings && checkSchema(op.settings, { ...at, field: 'settings', side: 'input' })
  const input = op.input && checkSchema(op.input, { ...at, field: 'input', side: 'input' })
  if (op.output) checkSchema(op.output, { subject, context, field: 'output', side: 'output' })
  if (problems.errors > before || !facts.success) return undefined
  const { short, ...said } = facts.data
  return Object.freeze({
    ...context.origin,
    id: op.id,
    short,
    facts: said as OpFacts,
    settings,
    input,
    definition: op,
    hash: context.deps.digest([op.id, context.unitHash].join('\n')),
    code: [context.sources, op.revision ?? 1],
  })
}

/** Why a tool with a wrong definition is missing, for readers who cannot fix it. */
export const WRONG_DEFINITION = 'Its definition is wrong; `quartermaster doctor` says how.'

/** Why a tool whose name is taken is missing. It does not name the other tool: the reader may not have that one. */
export const NAME_TAKEN =
  'Another tool has the name that it would be called by; `quartermaster doctor` says which one, and how to fix it.'

/** A tool as discovery shows it, by the name that allowlists use. */
export function describeTool({ name, ownName, title, short }: Tool): ToolDescriptor {
  return { name: ownName, title, short, ...(ownName === name ? {} : { calledAs: name }) }
}

/** Tools that a capability has and does not offer, by own names, each with the reason. */
function unavailableTools(capability: Capability, sound: readonly Tool[], context: CheckContext): WithheldTool[] {
  const known = new Set(sound.map(({ ownName }) => ownName))
  const held = capability.withheld.filter(({ name }) => !known.has(name))
  for (const { name } of held) known.add(name)
  const wrong = capability.tools.filter(tool => !known.has(String(tool?.ownName ?? tool?.name)))
  if (wrong.length === 0) return held
  const reason = reasons(context)
  return [
    ...held,
    ...wrong.flatMap(tool => (typeof tool?.name === 'string' ? [wrongTool(tool, reason(tool.name))] : [])),
  ]
}

/**
 * Tools that a capability no longer has. If its server has one again, a new listing brings it back, so the reason says how to get
 * one.
 */
function removedWithAdvice({ key, gone }: Capability, { kind }: CheckContext): WithheldTool[] {
  const step = kind === 'upstream' ? ` Look again: quartermaster upstreams restart ${key}` : ''
  return gone.map(tool => ({ ...tool, reason: `${tool.reason}${step}` }))
}

/** Tools named only to agents that list them: removed ones and those the owner excluded. */
export function removedTools({
  gone = [],
  unwanted = [],
}: Pick<CatalogueCapability, 'gone' | 'unwanted'>): WithheldTool[] {
  return [...gone, ...unwanted]
}

/**
 * Why no tool of this name is offered, if it is withheld, was removed or excluded. A capability that could offer it goes before one
 * that lost the name.
 */
export function unavailableReason(
  name: string,
  capabilities: Iterable<Pick<CatalogueCapability, 'hidden' | 'gone' | 'unwanted'>>,
): string | undefined {
  const all = [...capabilities]
  const known = [...all.flatMap(({ hidden: held }) => held), ...all.flatMap(removedTools)]
  const reasonFinder = known.filter(one => (one.calledAs ?? one.name) === name).map(({ reason }) => reason)
  return reasonFinder.find(reason => reason !== NAME_TAKEN) ?? reasonFinder[0]
}

export function toolDisabled(tool: string, reason: string): AppError {
  return new AppError('TOOL_DISABLED', `"${tool}" is not offered now. ${reason}`, { details: { tool } })
}

export function wrongTool({ name, ownName = name }: Pick<AnyTool, 'name' | 'ownName'>, reason: string): WithheldTool {
  return { name: ownName, reason, isWrong: true, ...(ownName === name ? {} : { calledAs: name }) }
}

/** For upstream tools the reason includes the first fault, because the owner cannot fix the tool, only exclude it. */
function reasons({ kind, problems }: CheckContext): (name: string) => string {
  if (kind !== 'upstream') return () => WRONG_DEFINITION
  const first = new Map(problems.all.toReversed().map(({ subject, message }) => [subject, message]))
  return name => {
    const message = first.get(`tool:${name}`)
    return message === undefined ? WRONG_DEFINITION : cannotBeOffered(message)
  }
}

/** Why a tool of an upstream is missing: the owner can only exclude or rename it. */
export function cannotBeOffered(message: string): string {
  return `It cannot be offered: ${message}`
}

const DependencyFacts = z.object({
  name: Name,
  title: z.string().min(1).max(100).optional(),
  dependsOn: z.array(Name).optional(),
  timeoutMs: z.number().int().min(10).max(60_000).optional(),
  recoveringMs: z.number().int().min(0).max(600_000).optional(),
  watchIntervalMs: z.number().int().min(1_000).max(86_400_000).optional(),
  fix: z.string().min(1).max(500).optional(),
})
const DEPENDENCY_FIELDS = [...Object.keys(DependencyFacts.shape), 'probe', 'onChange', 'isUsed']

export function checkDependency(definition: DependencyDefinition, context: CheckContext): Dependency | undefined {
  const { problems, deps } = context
  const subject = `dependency:${String(definition.name)}`
  const before = problems.errors
  checkFields(definition, DEPENDENCY_FIELDS, subject, problems)
  const facts = DependencyFacts.safeParse(definition)
  if (!facts.success) problems.addIssues(subject, '', facts.error.issues)
  const probe = probeOf(definition.probe)
  if (!probe) problems.add(subject, 'probe', 'must be a function, or one of the ready-made probes')
  const { onChange, isUsed } = definition
  for (const [field, value] of Object.entries({ onChange, isUsed }))
    if (value !== undefined && typeof value !== 'function') problems.add(subject, field, 'must be a function')
  if (problems.errors > before || !facts.success || !probe) return undefined
  const { name, title, dependsOn = [], timeoutMs, recoveringMs, watchIntervalMs, fix } = facts.data
  // A ready-made probe is identified by its description, a custom one only by the hash of its file.
  const describe = probe.describe ? canonicalJson(probe.describe) : `custom ${context.unitHash}`
  const hash = deps.digest(canonicalJson({ name, dependsOn, timeoutMs, recoveringMs, describe }))
  return {
    ...context.origin,
    name,
    title: title ?? name,
    dependsOn,
    timeoutMs,
    recoveringMs,
    watchIntervalMs,
    fix,
    probe: probe.run,
    onChange: onChange?.bind(definition),
    isUsed: isUsed?.bind(definition),
    describe,
    hash,
  }
}

function probeOf(
  probe: DependencyDefinition['probe'],
): { run: Probe['run']; describe?: Probe['describe'] } | undefined {
  if (typeof probe === 'function') return { run: probe }
  return typeof probe?.run === 'function' ? probe : undefined
}
