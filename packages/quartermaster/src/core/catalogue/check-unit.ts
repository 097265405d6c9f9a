import { z } from 'zod'
import {
  AppError,
  ConsentOperation,
  DECLARATION_SCHEMA,
  DeclarationFacts,
  InjectionMode,
  Name,
  OpId,
  type Problem,
  type ToolDescriptor,
  ToolFacts,
} from '../../contracts/index.ts'
import { checkDependency } from './check-dependency.ts'
import { checkPrompt, checkResource } from './check-mcp.ts'
import { checkEffectKinds, checkTool } from './check-tool.ts'
import {
  type Bundle,
  type CheckDeps,
  checkFields,
  checkKnowledge,
  checkLists,
  checkSchema,
  checkTexts,
  type UnitPlace,
} from './checks.ts'
import { type ConsentOperationDefinition } from './consent-operation.ts'
import { type Capability, type Injection, type Op, type OpFacts, type WithheldTool } from './definitions.ts'
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
  type WrittenUnit,
} from './generation.ts'
import { ProblemList } from './problem-list.ts'
import { type AnyTool } from './tool.ts'

/** A unit whose own definitions were looked at; what depends on other units is looked at when a generation is composed. */
export interface CheckedUnit extends Origin {
  readonly kind: SourceKind
  readonly hash: string
  readonly capabilities: readonly CatalogueCapability[]
  readonly injections: readonly CatalogueInjection[]
  readonly dependencies: readonly Dependency[]
  readonly consentOperations: readonly ConsentOperationDefinition[]
  readonly knowledge: readonly Knowledge[]
  readonly ops: readonly CatalogueOp[]
  /** Tools that are written down; what becomes of them hangs on the ops there are. */
  readonly declarations: readonly Declaration[]
  /** Names of an upstream, and since when it has them. */
  readonly claims: readonly NameClaim[]
  readonly problems: readonly Problem[]
}

/** A unit that could be read. */
export type LoadedUnit = Extract<SourceUnit, { hash: string }>

/** Checks one unit, pausing after every tool so that a caller can let others have their turn. */
export function* checkUnit(
  unit: LoadedUnit,
  place: { source: string; kind: SourceKind },
  deps: CheckDeps,
): Generator<void, CheckedUnit, void> {
  const origin: Origin = { source: place.source, unit: unit.id }
  // What a foreign server says cannot be fixed here, and one wrong tool of it must not keep back the rest.
  const problems = new ProblemList(unit.id, unit.problems, place.kind === 'upstream' ? 'warning' : 'error')
  const { claims = [] } = unit
  const addresses = claims.filter(({ kind }) => kind === 'resource')
  const claimed = new Map(addresses.map(({ name, since }) => [name, since]))
  const { hash: unitHash, sources } = unit
  const at: UnitPlace = { kind: place.kind, origin, unitHash, sources, problems, deps, claimed }
  const capabilities: CatalogueCapability[] = []
  const injections: CatalogueInjection[] = []
  const written = [...unit.definitions.dependencies]
  const consentOperations: ConsentOperationDefinition[] = []
  for (const definition of unit.definitions.capabilities) {
    const capability = yield* checkCapability(definition, at)
    if (!capability) continue
    capabilities.push(capability)
    written.push(...definition.dependencies)
    consentOperations.push(...checkConsentOperations(definition, problems))
  }
  for (const definition of unit.definitions.injections) {
    const injection = yield* checkInjection(definition, at)
    if (injection) injections.push(injection)
  }
  const texts = unit.definitions.written ?? []
  const pages = texts.filter(one => !isDeclaration(one))
  const knowledge = yield* checkEach(pages, one => checkKnowledge(one, at))
  const declarations = yield* checkEach(texts.filter(isDeclaration), one => checkDeclaration(one, at))
  for (const { facts } of declarations)
    consentOperations.push(...(facts?.consent ?? []).filter(one => typeof one === 'object'))
  const ops = yield* checkEach(unit.definitions.ops ?? [], one => checkOp(one, at))
  const dependencies = [...new Set(written)].flatMap(one => checkDependency(one, at) ?? [])
  return {
    ...origin,
    kind: place.kind,
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

/** The dependencies a unit brings, those that are right. Cheap, and never throws: problems are for `checkUnit` to tell. */
export function dependenciesOf(
  unit: LoadedUnit,
  source: { id: string; kind: SourceKind },
  deps: CheckDeps,
): Dependency[] {
  const place: UnitPlace = {
    kind: source.kind,
    origin: { source: source.id, unit: unit.id },
    unitHash: unit.hash,
    problems: new ProblemList(unit.id),
    deps,
  }
  try {
    const { capabilities, dependencies } = unit.definitions
    const written = new Set([...dependencies, ...capabilities.flatMap(one => one.dependencies)])
    return [...written].flatMap(one => checkDependency(one, place) ?? [])
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
  place: UnitPlace,
): Generator<void, CatalogueCapability | undefined, void> {
  const subject = `capability:${String(capability.key)}`
  const before = place.problems.errors
  checkTexts({ name: capability.key, title: capability.title, short: capability.short }, subject, place.problems)
  const areLists = checkLists(capability, CAPABILITY_LISTS, subject, place.problems)
  if (areLists) checkEffectKinds(capability.effectKinds, subject, place)
  const config =
    capability.config &&
    checkSchema(capability.config, { subject, field: 'config', side: 'input', root: 'object', place })
  if (place.problems.errors > before) return undefined
  const tools = yield* checkEach(capability.tools, one => checkTool(one, capability, place))
  const prompts = yield* checkEach(capability.prompts, one => checkPrompt(one, capability, place))
  const resources = yield* checkEach(capability.resources, one => checkResource(one, capability, place))
  return {
    ...place.origin,
    key: capability.key,
    title: capability.title,
    short: capability.short,
    descriptors: tools.map(describeTool),
    tools,
    prompts,
    resources,
    leftOut: leftOutOf(capability, tools, place),
    gone: goneFrom(capability, place),
    unwanted: capability.unwanted,
    unseen: capability.unseen,
    inward: capability.inward === true,
    configSchema: config?.described,
    validateConfig: config?.validate,
    resolver: capability,
    hash: place.deps.digest([capability.key, capability.short, place.unitHash].join('\n')),
    position: 0,
  }
}

function* checkInjection(
  injection: Injection,
  place: UnitPlace,
): Generator<void, CatalogueInjection | undefined, void> {
  const subject = `injection:${String(injection.key)}`
  const before = place.problems.errors
  checkTexts({ name: injection.key, title: injection.key, short: injection.short }, subject, place.problems)
  checkLists(injection, ['tools', 'modes'], subject, place.problems)
  const modes = z.array(InjectionMode).safeParse(injection.modes)
  if (!modes.success) place.problems.addIssues(subject, 'modes', modes.error.issues)
  if (place.problems.errors > before) return undefined
  const bundle: Bundle = { key: injection.key, requires: [], effectKinds: [] }
  const tools = yield* checkEach(injection.tools, one => checkTool(one, bundle, place))
  return { ...place.origin, injection, tools }
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
    // What code says is known with a call only, and looked at there.
    const parsed = ConsentOperation.safeParse(typeof scope === 'function' ? facts : operation)
    if (!parsed.success)
      problems.addIssues(`consent:${String(operation.name)}`, 'consentOperations', parsed.error.issues)
    return parsed.success
  })
}

/** What an op does not say is left to its declarations. */
const Facts = ToolFacts.pick({
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
const OP_FIELDS = ['id', 'handler', 'revision', ...Object.keys(Facts.shape), ...FUNCTIONS, ...SCHEMAS]

/** Checks one op. A bad one is left out, with everything that is wrong with it in the problems. */
function checkOp(op: Op, place: UnitPlace): CatalogueOp | undefined {
  const { problems } = place
  const subject = `op:${String(op.id)}`
  const before = problems.errors
  checkFields(op, OP_FIELDS, subject, problems)
  if (!Number.isInteger(op.revision ?? 1)) problems.add(subject, 'revision', 'must be a whole number')
  const id = OpId.safeParse(op.id)
  if (!id.success) problems.addIssues(subject, 'id', id.error.issues)
  const facts = Facts.safeParse(Object.fromEntries(Object.entries(op).filter(([field]) => field in Facts.shape)))
  if (!facts.success) problems.addIssues(subject, '', facts.error.issues)
  if (typeof op.handler !== 'function') problems.add(subject, 'handler', 'must be a function')
  for (const name of FUNCTIONS)
    if (op[name] !== undefined && typeof op[name] !== 'function') problems.add(subject, name, 'must be a function')
  const at = { subject, place, root: 'object' } as const
  const settings = op.settings && checkSchema(op.settings, { ...at, field: 'settings', side: 'input' })
  const input = op.input && checkSchema(op.input, { ...at, field: 'input', side: 'input' })
  if (op.output) checkSchema(op.output, { subject, place, field: 'output', side: 'output' })
  if (problems.errors > before || !facts.success) return undefined
  const { short, ...said } = facts.data
  return Object.freeze({
    ...place.origin,
    id: op.id,
    short,
    facts: said as OpFacts,
    settings,
    input,
    definition: op,
    hash: place.deps.digest([op.id, place.unitHash].join('\n')),
    code: [place.sources, op.revision ?? 1],
  })
}

const NO_FOLDER = 'is needed, or a folder around the file: it says which tools belong together'
/** A file of this name stands for its folder. */
const INDEX = /[/\\]index\.md$/i
const NO_TOOL = 'is needed: "index.md" is the page of its folder, and that is in no other. Give the file another name'
const DECLARATION_FIELDS = Object.keys(DeclarationFacts.shape)

/**
 * Checks what a declaration says by itself. One that is wrong is kept by name as far as it has one, so that an agent that
 * lists its tool is told of a tool that is wrong, and not of one that never was.
 */
function checkDeclaration(written: WrittenUnit, place: UnitPlace): Declaration | undefined {
  const problems = new ProblemList(place.origin.unit, [], 'error', written.lines?.fields)
  const declaration = checkWritten(written, place, problems)
  place.problems.take(problems)
  return declaration
}

function checkWritten(
  { path, front, body, lines }: WrittenUnit,
  { origin, unitHash }: UnitPlace,
  problems: ProblemList,
): Declaration | undefined {
  const subject = `declaration:${path}`
  const facts = readFacts(front, subject, problems)
  const names = path.split('/')
  const name = nameOf(front.name, names.at(-1))
  const section = nameOf(front.section, names.at(-2))
  const capability = nameOf(front.capability, section)
  if (name === undefined && front.name === undefined)
    problems.add(subject, 'name', 'is needed: the name of the file is none that a tool can have')
  if (section === undefined && front.section === undefined)
    problems.add(subject, 'section', INDEX.test(origin.unit) ? NO_TOOL : NO_FOLDER)
  if (name === undefined || section === undefined || capability === undefined) return undefined
  const sound = problems.errors > 0 ? undefined : facts
  return Object.freeze({ ...origin, path, name, capability, section, facts: sound, body, lines, hash: unitHash })
}

function readFacts(front: WrittenUnit['front'], subject: string, problems: ProblemList): DeclarationFacts | undefined {
  // Of another version nothing that follows would be true.
  if (front.schema !== undefined && front.schema !== DECLARATION_SCHEMA) {
    const text = `is ${JSON.stringify(front.schema)}, and declarations are read in version ${DECLARATION_SCHEMA} here`
    problems.add(subject, 'schema', text, `Write "schema: ${DECLARATION_SCHEMA}", or update Quartermaster.`)
    return undefined
  }
  checkFields(front, DECLARATION_FIELDS, subject, problems)
  for (const field of ['parameters', 'fixed']) checkNames(front[field], { subject, field, problems })
  const known = Object.fromEntries(Object.entries(front).filter(([field]) => DECLARATION_FIELDS.includes(field)))
  const facts = DeclarationFacts.safeParse(known)
  if (facts.success) return facts.data
  for (const issue of facts.error.issues) {
    const { path } = issue
    if (path[0] === 'schema')
      problems.add(subject, 'schema', 'is needed', `Write "schema: ${DECLARATION_SCHEMA}" at its head.`)
    else problems.addIssues(subject, '', [isMissing(known, path) ? { path, message: 'is needed' } : issue])
  }
  return undefined
}

function isMissing(known: Record<string, unknown>, path: readonly PropertyKey[]): boolean {
  return path.length === 1 && known[String(path[0])] === undefined
}

/** The library passes over this one without a word. */
const PASSED_OVER = '__proto__'

interface NamesAt {
  readonly subject: string
  readonly field: string
  readonly problems: ProblemList
}

function checkNames(values: unknown, { subject, field, problems }: NamesAt): void {
  if (typeof values === 'object' && values !== null && Object.hasOwn(values, PASSED_OVER))
    problems.add(subject, `${field}.${PASSED_OVER}`, 'is a name that nothing can have')
}

/** What is said, or what stands in for it, where it is a name. */
function nameOf(said: unknown, otherwise: string | undefined): string | undefined {
  const name = Name.safeParse(said ?? otherwise)
  return name.success ? name.data : undefined
}

/** Why a tool with a wrong definition is missing, for readers that cannot fix it. */
export const WRONG_DEFINITION = 'Its definition is wrong; `quartermaster doctor` says how.'

/** Why a tool whose name is taken is missing. Not by which tool: the reader may not have that one. */
export const LOST_NAME =
  'Another tool has the name that it would be called by; `quartermaster doctor` says which one, and how to fix it.'

/** A tool as discovery shows it, by the name that allowlists use. */
export function describeTool({ name, ownName, title, short }: Tool): ToolDescriptor {
  return { name: ownName, title, short, ...(ownName === name ? {} : { calledAs: name }) }
}

/** The tools that a capability has and does not offer, by own names, each with the reason. */
function leftOutOf(capability: Capability, sound: readonly Tool[], place: UnitPlace): WithheldTool[] {
  const known = new Set(sound.map(({ ownName }) => ownName))
  const held = capability.withheld.filter(({ name }) => !known.has(name))
  for (const { name } of held) known.add(name)
  const wrong = capability.tools.filter(tool => !known.has(String(tool?.ownName ?? tool?.name)))
  if (wrong.length === 0) return held
  const reason = reasons(place)
  return [...held, ...wrong.flatMap(tool => (typeof tool?.name === 'string' ? [leftOut(tool, reason(tool.name))] : []))]
}

/**
 * The tools that a capability had once, by own names. A server that has one again may not have been asked since, so the reason
 * says how to ask it.
 */
function goneFrom({ key, gone }: Capability, { kind }: UnitPlace): WithheldTool[] {
  const step = kind === 'upstream' ? ` Look again: quartermaster upstreams restart ${key}` : ''
  return gone.map(tool => ({ ...tool, reason: `${tool.reason}${step}` }))
}

/** Tools of a capability that are named only to agents that list them: those it had once, and those the owner has left out. */
export function absentTools({
  gone = [],
  unwanted = [],
}: Pick<CatalogueCapability, 'gone' | 'unwanted'>): WithheldTool[] {
  return [...gone, ...unwanted]
}

/**
 * Why no tool of this name is offered, if it is held back, was there once or is left out. A capability that would have it goes
 * before one that has lost it.
 */
export function whyLeftOut(
  name: string,
  capabilities: Iterable<Pick<CatalogueCapability, 'leftOut' | 'gone' | 'unwanted'>>,
): string | undefined {
  const all = [...capabilities]
  const known = [...all.flatMap(({ leftOut: held }) => held), ...all.flatMap(absentTools)]
  const reasons = known.filter(one => (one.calledAs ?? one.name) === name).map(({ reason }) => reason)
  return reasons.find(reason => reason !== LOST_NAME) ?? reasons[0]
}

export function notOffered(tool: string, reason: string): AppError {
  return new AppError('TOOL_DISABLED', `"${tool}" is not offered now. ${reason}`, { details: { tool } })
}

/** A tool that cannot be offered, by both its names. */
export function leftOut({ name, ownName = name }: Pick<AnyTool, 'name' | 'ownName'>, reason: string): WithheldTool {
  return { name: ownName, reason, isWrong: true, ...(ownName === name ? {} : { calledAs: name }) }
}

/** Of an upstream's tool the first thing that is wrong is told at once: the owner can only leave it out. */
function reasons({ kind, problems }: UnitPlace): (name: string) => string {
  if (kind !== 'upstream') return () => WRONG_DEFINITION
  const first = new Map(problems.all.toReversed().map(({ subject, message }) => [subject, message]))
  return name => {
    const message = first.get(`tool:${name}`)
    return message === undefined ? WRONG_DEFINITION : cannotBeOffered(message)
  }
}

/** Why a tool of an upstream is not there: the owner cannot fix it, only leave it out or name it otherwise. */
export function cannotBeOffered(message: string): string {
  return `It cannot be offered: ${message}`
}
