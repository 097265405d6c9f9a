import { type Problem } from '../../contracts/index.ts'
import { didYouMean } from '../kernel/index.ts'
import { type CheckedUnit, cannotBeOffered, describeTool, LOST_NAME, leftOut, WRONG_DEFINITION } from './check-unit.ts'
import { type Declare, type Declared } from './compose-declarations.ts'
import {
  type CommandWords,
  capabilityTaken,
  emptyScopes,
  type KnownReadings,
  misfit,
  missingConsent,
  missingRequires,
  type NamedKind,
  nameTaken,
  type Owners,
  otherOwner,
  ownersAmong,
  takeConsentOperations,
  takeReadings,
  withOwnWord,
} from './compose-parts.ts'
import { type ConsentOperationDefinition } from './consent-operation.ts'
import {
  type CatalogueCapability,
  type CatalogueInjection,
  type Dependency,
  type Generation,
  inOrder,
  type Origin,
  type SourceKind,
  type Tool,
} from './generation.ts'
import { isAbout } from './problem-list.ts'
import { withLastGood } from './sources.ts'

/** Puts checked units together: the earlier source keeps a name, and what refers to nothing is left out and explained. */
function composeGeneration(
  facts: Pick<Generation, 'number' | 'isPartial'>,
  units: readonly CheckedUnit[],
  declare: Declare,
): { generation: Generation; problems: Problem[] } {
  const problems = units.flatMap(unit => unit.problems)
  const ordered = inOrder(units)
  const ops = takeNames(
    ordered.flatMap(unit => unit.ops),
    'op',
    problems,
  )
  const declared = declare(ordered, ops)
  problems.push(...declared.problems)
  const written = takeNames(
    ordered.flatMap(unit => unit.dependencies),
    'dependency',
    problems,
  )
  const dependencies = linkedDependencies(withNeeded(written, declared, problems), problems)
  const consentOperations = takeConsentOperations(ordered, problems)
  problems.push(...unmetBesides(declared, dependencies, consentOperations))
  const tools = new Map<string, Tool>()
  const prompts: KnownReadings['prompts'] = new Map()
  const resources: KnownReadings['resources'] = new Map()
  const words: CommandWords = new Map()
  const known: Known = {
    tools,
    words,
    prompts,
    resources,
    dependencies,
    consentOperations,
    problems,
    owners: NO_OWNERS,
  }
  const { capabilities, injections } = takeBundles(ordered, declared, known)
  const knowledge = takeNames(
    ordered.flatMap(unit => unit.knowledge),
    'unit',
    problems,
  )
  problems.push(...emptyScopes(ordered, tools))
  return {
    generation: Object.freeze({
      ...facts,
      tools,
      prompts,
      resources,
      dependencies,
      owners: known.owners,
      capabilities,
      injections,
      consentOperations,
      ops,
      knowledge,
    }),
    problems,
  }
}

/** What the ops of declarations need, beside what is defined. The same may be needed by several, and be there already. */
function withNeeded(
  written: ReadonlyMap<string, Dependency>,
  { dependencies }: Declared,
  problems: Problem[],
): Map<string, Dependency> {
  const all = new Map(written)
  for (const one of dependencies) {
    const first = all.get(one.name)
    if (!first) all.set(one.name, one)
    else if (first.hash !== one.hash) problems.push(nameTaken('dependency', one.name, one, first))
  }
  return all
}

/** Of a declaration that is no tool for other reasons, what it names in vain: all that is wrong is told at once. */
function unmetBesides(
  { capabilities }: Declared,
  dependencies: Known['dependencies'],
  operations: Known['consentOperations'],
): Problem[] {
  return [...capabilities.values()].flat().flatMap(({ capability, declarations }) => {
    const made = new Set(capability.tools.map(({ name }) => name))
    return declarations.flatMap(({ name, facts, source, unit }) => {
      if (!facts || made.has(name)) return []
      const consent = facts.consent.filter(one => typeof one === 'string')
      const item = { source, unit, requires: facts.requires, consent }
      return [...missingRequires(item, { kind: 'tool', name }, dependencies), ...missingConsent(item, name, operations)]
    })
  })
}

function withSoundParts(found: CatalogueCapability, known: Known, kind: SourceKind): CatalogueCapability {
  const before = known.problems.length
  const { tools, dropped } = takeTools(found.tools, known, kind)
  const faults = known.problems.slice(before)
  const capability = { ...found, ...takeReadings(found, known, kind), tools }
  if (dropped.length === 0) return capability
  const reasons = dropped.map(tool => leftOut(tool, reasonFor(tool, faults, kind)))
  return { ...capability, descriptors: tools.map(describeTool), leftOut: [...capability.leftOut, ...reasons] }
}

/** The author of a tool here fixes it; of an upstream's tool the reason says at once what is in its way. */
function reasonFor({ name }: Tool, faults: readonly Problem[], kind: SourceKind): string {
  const fault = faults.find(({ subject }) => subject === `tool:${name}`)
  if (fault?.field === 'name') return LOST_NAME
  return fault === undefined || kind !== 'upstream' ? WRONG_DEFINITION : cannotBeOffered(fault.message)
}

/**
 * An injection's server stands beside those of capabilities, so the two share one set of keys. Unit by unit, so that
 * nothing a project or an upstream brings takes the name of a built-in tool, whichever of the two brings that one.
 */
function takeBundles(units: readonly CheckedUnit[], declared: Declared, known: Known) {
  const taken = new Map<string, Origin>()
  const capabilities = new Map<string, CatalogueCapability>()
  const injections: CatalogueInjection[] = []
  const take = (kind: 'capability' | 'injection', key: string, origin: Origin): boolean => {
    const first = taken.get(key)
    if (first) known.problems.push(nameTaken(kind, key, origin, first))
    else taken.set(key, origin)
    return !first
  }
  const add = (one: CatalogueCapability, kind: SourceKind) =>
    capabilities.set(one.key, { ...withSoundParts(one, known, kind), position: capabilities.size })
  for (const unit of units) {
    // By now it is known which of them are left out for their own names.
    if (unit.kind === 'upstream' && known.owners === NO_OWNERS)
      known.owners = ownersAmong(units.filter(isUpstream), one => taken.has(one.key))
    for (const one of unit.capabilities) if (take('capability', one.key, one)) add(one, unit.kind)
    for (const { capability, declarations } of declared.capabilities.get(unit) ?? []) {
      const first = taken.get(capability.key)
      if (first) known.problems.push(...declarations.map(one => capabilityTaken(one, first)))
      else {
        taken.set(capability.key, capability)
        add(capability, unit.kind)
      }
    }
    for (const one of unit.injections) {
      if (take('injection', one.injection.key, one))
        injections.push({ ...one, tools: takeTools(one.tools, known, unit.kind).tools })
    }
  }
  return { capabilities, injections }
}

const NO_OWNERS: Owners = new Map()

function isUpstream({ kind }: CheckedUnit): boolean {
  return kind === 'upstream'
}

interface Known extends KnownReadings {
  readonly tools: Map<string, Tool>
  readonly words: CommandWords
  readonly consentOperations: ReadonlyMap<string, ConsentOperationDefinition>
}

function takeNames<T extends Origin & ({ name: string } | { id: string } | { path: string })>(
  items: readonly T[],
  kind: NamedKind,
  problems: Problem[],
): Map<string, T> {
  const taken = new Map<string, T>()
  for (const item of items) {
    const name = 'id' in item ? item.id : 'path' in item ? item.path : item.name
    const first = taken.get(name)
    if (first) problems.push(nameTaken(kind, name, item, first))
    else taken.set(name, item)
  }
  return taken
}

/** Leaves out dependencies that hang on nothing or on themselves, and those that hang on them. */
export function linkedDependencies(
  all: ReadonlyMap<string, Dependency>,
  problems: Problem[] = [],
): Map<string, Dependency> {
  const verdicts = new Map<string, boolean>()
  const isSound = (name: string, trail: readonly string[]): boolean => {
    const known = verdicts.get(name)
    if (known !== undefined) return known
    const dependency = all.get(name)
    if (!dependency || trail.includes(name)) return false
    const unsound = dependency.dependsOn.filter(parent => !isSound(parent, [...trail, name]))
    for (const parent of unsound) problems.push(brokenParent(dependency, parent, all))
    verdicts.set(name, unsound.length === 0)
    return unsound.length === 0
  }
  return new Map([...all].filter(([name]) => isSound(name, [])))
}

function brokenParent(dependency: Dependency, parent: string, all: ReadonlyMap<string, Dependency>): Problem {
  const message = all.has(parent)
    ? `hangs on "${parent}", which is left out or hangs on it in turn`
    : `names "${parent}", which nothing defines.${didYouMean(parent, all.keys())}`
  return misfit(dependency, `dependency:${dependency.name}`, 'dependsOn', `Dependency "${dependency.name}" ${message}`)
}

function takeTools(found: readonly Tool[], known: Known, kind: SourceKind): { tools: Tool[]; dropped: Tool[] } {
  const tools: Tool[] = []
  const dropped: Tool[] = []
  for (const tool of found) {
    const faults = faultsOf(tool, known)
    known.problems.push(...faults)
    if (faults.length > 0) {
      dropped.push(tool)
      continue
    }
    const kept = withOwnWord(tool, known, kind)
    known.tools.set(kept.name, kept)
    tools.push(kept)
  }
  return { tools, dropped }
}

function faultsOf(tool: Tool, known: Known): Problem[] {
  const faults: Problem[] = []
  const first = known.tools.get(tool.name) ?? otherOwner(known.owners, 'tool', tool)
  if (first) faults.push(nameTaken('tool', tool.name, tool, first))
  faults.push(...missingRequires(tool, { kind: 'tool', name: tool.name }, known.dependencies))
  faults.push(...missingConsent(tool, tool.name, known.consentOperations))
  return faults
}

export interface Composition {
  readonly generation: Generation
  readonly problems: readonly Problem[]
  /** The units it was made of. */
  readonly units: readonly CheckedUnit[]
}

interface CompositionParts {
  readonly number: number
  /** Some source is still loading. */
  readonly isPartial: boolean
  readonly units: readonly CheckedUnit[]
  /** Units of the host program; they come with every generation. */
  readonly registered: readonly CheckedUnit[]
  /** What the present generation is made of, and what is wrong with it. */
  readonly used: readonly CheckedUnit[]
  readonly faults: readonly Problem[]
  readonly declare: Declare
}

/**
 * Composes; a changed file that is right in itself but does not fit with the others (it needs what nothing defines, or
 * takes a name) keeps the version that did fit. Not so what an upstream has: an old version of it would offer what its
 * server no longer does.
 */
export function composeBest(parts: CompositionParts): Composition {
  const { number, isPartial, units, registered, used, faults, declare } = parts
  const compose = (chosen: readonly CheckedUnit[]) =>
    composeGeneration({ number, isPartial }, [...chosen, ...registered], declare)
  const first = compose(units)
  const before = new Map(used.filter(unit => !isFaulty(unit, faults)).map(unit => [keyOf(unit), unit]))
  const instead = (unit: CheckedUnit) =>
    !used.includes(unit) && unit.kind !== 'upstream' && isFaulty(unit, first.problems)
      ? before.get(keyOf(unit))
      : undefined
  const spoiled = units.filter(unit => instead(unit) !== undefined)
  if (spoiled.length === 0) return { ...first, units }
  const chosen = units.map(unit => instead(unit) ?? unit)
  const second = compose(chosen)
  const kept = first.problems.filter(problem => spoiled.some(({ unit }) => isAbout(problem, unit))).map(withLastGood)
  return { generation: second.generation, problems: [...second.problems, ...kept], units: chosen }
}

function isFaulty({ unit }: CheckedUnit, problems: readonly Problem[]): boolean {
  return problems.some(problem => problem.severity === 'error' && isAbout(problem, unit))
}

function keyOf({ source, unit }: CheckedUnit): string {
  return `${source}\n${unit}`
}
