import type { Problem } from '../../contracts/index.ts'
import { didYouMean } from '../kernel/index.ts'
import type { CheckedUnit } from './check-unit.ts'
import { emptyScopes, takeConsentOperations } from './compose-consent.ts'
import { misfit, missingRequires, nameTaken } from './compose-problems.ts'
import { type KnownReadings, takeReadings } from './compose-readings.ts'
import type { ConsentOperationDefinition } from './consent-operation.ts'
import type { CatalogueCapability, CatalogueInjection, Dependency, Generation, Origin, Tool } from './generation.ts'
import { cannotBeOffered, describeTool, leftOut, WRONG_DEFINITION } from './left-out.ts'
import { SOURCE_KINDS, type SourceKind } from './source.ts'

/** Puts checked units together: the earlier source keeps a name, and what refers to nothing is left out and explained. */
export function composeGeneration(
  facts: Pick<Generation, 'number' | 'isPartial'>,
  units: readonly CheckedUnit[],
): { generation: Generation; problems: Problem[] } {
  const problems = units.flatMap(unit => unit.problems)
  const ordered = units.toSorted((a, b) => SOURCE_KINDS.indexOf(a.kind) - SOURCE_KINDS.indexOf(b.kind))
  const dependencies = linkedDependencies(
    takeNames(
      ordered.flatMap(unit => unit.dependencies),
      'dependency',
      problems,
    ),
    problems,
  )
  const consentOperations = takeConsentOperations(ordered, problems)
  const tools = new Map<string, Tool>()
  const prompts: KnownReadings['prompts'] = new Map()
  const resources: KnownReadings['resources'] = new Map()
  const known = { tools, prompts, resources, dependencies, consentOperations, problems }
  const { capabilities, injections } = takeBundles(ordered, known)
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
      capabilities,
      injections,
      consentOperations,
      knowledge,
    }),
    problems,
  }
}

function withSoundParts(found: CatalogueCapability, known: Known, kind: SourceKind): CatalogueCapability {
  const before = known.problems.length
  const tools = takeTools(found.tools, known)
  const faults = known.problems.slice(before)
  const capability = { ...found, ...takeReadings(found, known, kind) }
  if (tools.length === capability.tools.length) return capability
  const kept = new Set(tools)
  const dropped = capability.tools.filter(tool => !kept.has(tool)).map(tool => leftOut(tool, reasonFor(tool, faults)))
  return { ...capability, tools, descriptors: tools.map(describeTool), leftOut: [...capability.leftOut, ...dropped] }
}

/** Whoever wrote a tool here mends it; of an upstream's it is told at once what is in its way. */
function reasonFor({ name, ownName }: Tool, faults: readonly Problem[]): string {
  const fault = faults.find(({ subject }) => subject === `tool:${name}`)
  return fault === undefined || ownName === name ? WRONG_DEFINITION : cannotBeOffered(fault.message)
}

/**
 * An injection's server stands beside those of capabilities, so the two share one set of keys. Unit by unit, so that
 * nothing a project or an upstream brings takes the name of a built-in tool, whichever of the two brings that one.
 */
function takeBundles(units: readonly CheckedUnit[], known: Known) {
  const taken = new Map<string, Origin>()
  const capabilities = new Map<string, CatalogueCapability>()
  const injections: CatalogueInjection[] = []
  const take = (kind: string, key: string, origin: Origin): boolean => {
    const first = taken.get(key)
    if (first) known.problems.push(nameTaken(kind, key, origin, first))
    else taken.set(key, origin)
    return !first
  }
  for (const unit of units) {
    for (const one of unit.capabilities) {
      if (take('capability', one.key, one))
        capabilities.set(one.key, { ...withSoundParts(one, known, unit.kind), position: capabilities.size })
    }
    for (const one of unit.injections) {
      if (take('injection', one.injection.key, one)) injections.push({ ...one, tools: takeTools(one.tools, known) })
    }
  }
  return { capabilities, injections }
}

interface Known extends KnownReadings {
  readonly tools: Map<string, Tool>
  readonly consentOperations: ReadonlyMap<string, ConsentOperationDefinition>
}

function takeNames<T extends Origin & ({ name: string } | { key: string } | { path: string })>(
  items: readonly T[],
  kind: string,
  problems: Problem[],
): Map<string, T> {
  const taken = new Map<string, T>()
  for (const item of items) {
    const name = 'key' in item ? item.key : 'path' in item ? item.path : item.name
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

function takeTools(tools: readonly Tool[], known: Known): readonly Tool[] {
  const kept = tools.filter(tool => {
    const faults = faultsOf(tool, known)
    if (faults.length === 0) known.tools.set(tool.name, tool)
    else known.problems.push(...faults)
    return faults.length === 0
  })
  return kept.length === tools.length ? tools : kept
}

function faultsOf(tool: Tool, known: Known): Problem[] {
  const subject = `tool:${tool.name}`
  const faults: Problem[] = []
  const first = known.tools.get(tool.name)
  if (first) faults.push(nameTaken('tool', tool.name, tool, first))
  faults.push(...missingRequires(tool, { kind: 'tool', name: tool.name }, known.dependencies))
  for (const name of tool.consent) {
    if (known.consentOperations.has(name)) continue
    const hint = didYouMean(name, known.consentOperations.keys())
    faults.push(
      misfit(tool, subject, 'consent', `Tool "${tool.name}" asks for "${name}", which no capability declares.${hint}`),
    )
  }
  return faults
}
