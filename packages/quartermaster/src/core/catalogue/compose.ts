import { type Problem } from '../../contracts/index.ts'
import { didYouMean } from '../kernel/index.ts'
import {
  type CheckedUnit,
  cannotBeOffered,
  describeTool,
  NAME_TAKEN,
  WRONG_DEFINITION,
  wrongTool,
} from './check-unit.ts'
import { concernsUnit } from './checks.ts'
import {
  addReadings,
  type CommandWords,
  type ComposedReadings,
  capabilityTaken,
  definitionProblem,
  findOwners,
  missingConsent,
  missingRequires,
  type NamedKind,
  nameTaken,
  type Owners,
  otherOwner,
  uniqueConsentOperations,
  unusableScopes,
  withUniqueCommand,
} from './compose-parts.ts'
import { type Declare, type Declared } from './declared-tool.ts'
import { type ConsentOperationDefinition } from './definitions.ts'
import {
  byPrecedence,
  type CatalogueCapability,
  type CatalogueInjection,
  type Dependency,
  type Generation,
  type Origin,
  type SourceKind,
  type Tool,
} from './generation.ts'
import { withLastGood } from './sources.ts'

/** Composes checked units: the earlier source keeps a name, and what refers to nothing is left out with a problem. */
function composeGeneration(
  facts: Pick<Generation, 'number' | 'isPartial'>,
  units: readonly CheckedUnit[],
  declare: Declare,
): { generation: Generation; problems: Problem[] } {
  const problems = units.flatMap(unit => unit.problems)
  const ordered = byPrecedence(units)
  const unique = <T extends Named>(kind: NamedKind, itemsOf: (unit: CheckedUnit) => readonly T[]) =>
    uniqueByName(kind, problems, ordered.flatMap(itemsOf))
  const ops = unique('op', unit => unit.ops)
  const declared = declare(ordered, ops)
  problems.push(...declared.problems)
  const written = unique('dependency', unit => unit.dependencies)
  const dependencies = linkedDependencies(withOpDependencies(written, declared, problems), problems)
  const consentOperations = uniqueConsentOperations(ordered, problems)
  problems.push(...missingReferences(declared, dependencies, consentOperations))
  const composed: Composed = {
    tools: new Map(),
    prompts: new Map(),
    resources: new Map(),
    words: new Map(),
    owners: NO_OWNERS,
    dependencies,
    consentOperations,
    problems,
  }
  const bundles = addBundles(ordered, declared, composed)
  const knowledge = unique('unit', unit => unit.knowledge)
  const { tools, prompts, resources, owners } = composed
  problems.push(...unusableScopes(ordered, tools))
  const definitions = { tools, prompts, resources, dependencies, owners, ...bundles, consentOperations, ops, knowledge }
  return { generation: Object.freeze({ ...facts, ...definitions }), problems }
}

/** Adds the dependencies of declared ops. Several may need the same one, and it may exist already. */
function withOpDependencies(
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

/** Unknown references of declarations that fail for other reasons too, so that all problems are reported at once. */
function missingReferences(
  { capabilities }: Declared,
  dependencies: Composed['dependencies'],
  operations: Composed['consentOperations'],
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

function fitCapability(found: CatalogueCapability, composed: Composed, kind: SourceKind): CatalogueCapability {
  const before = composed.problems.length
  const { tools, dropped } = addTools(found.tools, composed, kind)
  const faults = composed.problems.slice(before)
  const capability = { ...found, ...addReadings(found, composed, kind), tools }
  if (dropped.length === 0) return capability
  const reasons = dropped.map(tool => wrongTool(tool, reasonFor(tool, faults, kind)))
  return { ...capability, descriptors: tools.map(describeTool), hidden: [...capability.hidden, ...reasons] }
}

/** Why a tool was dropped. For upstream tools it includes the fault, because the reader cannot fix them. */
function reasonFor({ name }: Tool, faults: readonly Problem[], kind: SourceKind): string {
  const fault = faults.find(({ subject }) => subject === `tool:${name}`)
  if (fault?.field === 'name') return NAME_TAKEN
  return fault === undefined || kind !== 'upstream' ? WRONG_DEFINITION : cannotBeOffered(fault.message)
}

/**
 * Adds capabilities and injections, which share one set of keys because each becomes an MCP server. Goes unit by unit, so that no
 * project or upstream takes the name of a built-in tool.
 */
function addBundles(units: readonly CheckedUnit[], declared: Declared, composed: Composed) {
  const taken = new Map<string, Origin>()
  const capabilities = new Map<string, CatalogueCapability>()
  const injections: CatalogueInjection[] = []
  const take = (kind: 'capability' | 'injection', key: string, origin: Origin): boolean => {
    const first = taken.get(key)
    if (first) composed.problems.push(nameTaken(kind, key, origin, first))
    else taken.set(key, origin)
    return !first
  }
  const add = (one: CatalogueCapability, kind: SourceKind) =>
    capabilities.set(one.key, { ...fitCapability(one, composed, kind), position: capabilities.size })
  for (const unit of units) {
    // By now it is known which upstreams are left out because their own key is taken.
    if (unit.kind === 'upstream' && composed.owners === NO_OWNERS)
      composed.owners = findOwners(
        units.filter(({ kind }) => kind === 'upstream'),
        one => taken.has(one.key),
      )
    for (const one of unit.capabilities) if (take('capability', one.key, one)) add(one, unit.kind)
    for (const { capability, declarations } of declared.capabilities.get(unit) ?? []) {
      const first = taken.get(capability.key)
      if (first) composed.problems.push(...declarations.map(one => capabilityTaken(one, first)))
      else {
        taken.set(capability.key, capability)
        add(capability, unit.kind)
      }
    }
    for (const one of unit.injections) {
      if (take('injection', one.injection.key, one))
        injections.push({ ...one, tools: addTools(one.tools, composed, unit.kind).tools })
    }
  }
  return { capabilities, injections }
}

const NO_OWNERS: Owners = new Map()

interface Composed extends ComposedReadings {
  readonly tools: Map<string, Tool>
  readonly words: CommandWords
  readonly consentOperations: ReadonlyMap<string, ConsentOperationDefinition>
}

type Named = Origin & ({ name: string } | { id: string } | { path: string })

function uniqueByName<T extends Named>(kind: NamedKind, problems: Problem[], items: readonly T[]): Map<string, T> {
  const taken = new Map<string, T>()
  for (const item of items) {
    const name = 'id' in item ? item.id : 'path' in item ? item.path : item.name
    const first = taken.get(name)
    if (first) problems.push(nameTaken(kind, name, item, first))
    else taken.set(name, item)
  }
  return taken
}

/** Leaves out dependencies with unknown or circular parents, and everything that depends on them. */
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
    ? `depends on "${parent}", which is left out or depends on it in turn`
    : `names "${parent}", which nothing defines.${didYouMean(parent, all.keys())}`
  return definitionProblem(
    dependency,
    `dependency:${dependency.name}`,
    'dependsOn',
    `Dependency "${dependency.name}" ${message}`,
  )
}

function addTools(found: readonly Tool[], composed: Composed, kind: SourceKind): { tools: Tool[]; dropped: Tool[] } {
  const tools: Tool[] = []
  const dropped: Tool[] = []
  for (const tool of found) {
    const faults = faultsOf(tool, composed)
    composed.problems.push(...faults)
    if (faults.length > 0) {
      dropped.push(tool)
      continue
    }
    const kept = withUniqueCommand(tool, composed, kind)
    composed.tools.set(kept.name, kept)
    tools.push(kept)
  }
  return { tools, dropped }
}

function faultsOf(tool: Tool, composed: Composed): Problem[] {
  const { name } = tool
  const first = composed.tools.get(name) ?? otherOwner(composed.owners, 'tool', tool)
  return [
    ...(first ? [nameTaken('tool', name, tool, first)] : []),
    ...missingRequires(tool, { kind: 'tool', name }, composed.dependencies),
    ...missingConsent(tool, name, composed.consentOperations),
  ]
}

export interface Composition {
  readonly generation: Generation
  readonly problems: readonly Problem[]
  readonly units: readonly CheckedUnit[]
}

/**
 * Composes a generation. A changed file that is valid but does not fit with the others (an unknown reference, a taken name) keeps
 * its previous version. Upstreams do not: the previous version would offer tools their server no longer has.
 */
export function composeBest(parts: {
  readonly number: number
  readonly isPartial: boolean
  readonly units: readonly CheckedUnit[]
  readonly registered: readonly CheckedUnit[]
  readonly used: readonly CheckedUnit[]
  readonly faults: readonly Problem[]
  readonly declare: Declare
}): Composition {
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
  const kept = first.problems
    .filter(problem => spoiled.some(({ unit }) => concernsUnit(problem, unit)))
    .map(withLastGood)
  return { generation: second.generation, problems: [...second.problems, ...kept], units: chosen }
}

function isFaulty({ unit }: CheckedUnit, problems: readonly Problem[]): boolean {
  return problems.some(problem => problem.severity === 'error' && concernsUnit(problem, unit))
}

function keyOf({ source, unit }: CheckedUnit): string {
  return `${source}\n${unit}`
}
