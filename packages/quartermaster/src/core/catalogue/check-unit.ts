import { z } from 'zod'
import type { Problem } from '../../contracts/index.ts'
import { ConsentOperation, InjectionMode } from '../../contracts/index.ts'
import type { Capability } from './capability.ts'
import { checkDeclaration } from './check-declaration.ts'
import { checkDependency } from './check-dependency.ts'
import { checkEffectKinds } from './check-effects.ts'
import { checkKnowledge } from './check-knowledge.ts'
import { checkOp } from './check-op.ts'
import { checkLists, checkSchema, checkTexts } from './check-parts.ts'
import type { Bundle, CheckDeps, UnitPlace } from './check-place.ts'
import { checkPrompt } from './check-prompt.ts'
import { checkResource } from './check-resource.ts'
import { checkTool } from './check-tool.ts'
import type { ConsentOperationDefinition } from './consent-operation.ts'
import type { Declaration } from './declaration.ts'
import type {
  CatalogueCapability,
  CatalogueInjection,
  CatalogueOp,
  Dependency,
  Knowledge,
  Origin,
} from './generation.ts'
import type { Injection } from './injection.ts'
import { describeTool, goneFrom, leftOutOf } from './left-out.ts'
import { ProblemList } from './problem-list.ts'
import type { NameClaim, SourceKind, SourceUnit } from './source.ts'
import { isDeclaration } from './written.ts'

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
  // Nobody here can mend what a server of someone else says, and one tool of it that is wrong must not keep back the rest.
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
