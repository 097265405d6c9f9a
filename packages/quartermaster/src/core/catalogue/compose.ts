import type { ConsentOperation, Problem } from '../../contracts/index.ts'
import { didYouMean } from '../kernel/index.ts'
import type { CheckedUnit } from './check-unit.ts'
import type { CatalogueCapability, CatalogueInjection, Dependency, Generation, Origin, Tool } from './generation.ts'
import { SOURCE_KINDS } from './source.ts'

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
  const known = { tools, dependencies, consentOperations, problems }
  const capabilities = new Map<string, CatalogueCapability>()
  for (const capability of takeNames(
    ordered.flatMap(unit => unit.capabilities),
    'capability',
    problems,
  ).values()) {
    capabilities.set(capability.key, { ...withSoundTools(capability, known), position: capabilities.size })
  }
  const injections = takeInjections(ordered, capabilities, known)
  return {
    generation: Object.freeze({ ...facts, tools, dependencies, capabilities, injections, consentOperations }),
    problems,
  }
}

function withSoundTools(capability: CatalogueCapability, known: Known): CatalogueCapability {
  const tools = takeTools(capability.tools, known)
  if (tools.length === capability.tools.length) return capability
  const descriptors = tools.map(({ name, title, short }) => ({ name, title, short }))
  const dropped = capability.tools.filter(tool => !tools.includes(tool)).map(tool => tool.name)
  return { ...capability, tools, descriptors, leftOut: [...capability.leftOut, ...dropped] }
}

/** An injection's server stands beside those of capabilities, so the two share one set of keys. */
function takeInjections(
  units: readonly CheckedUnit[],
  capabilities: ReadonlyMap<string, CatalogueCapability>,
  known: Known,
): CatalogueInjection[] {
  const taken = new Map<string, Origin>(capabilities)
  return units
    .flatMap(unit => unit.injections)
    .flatMap(entry => {
      const { key } = entry.injection
      const first = taken.get(key)
      if (first) known.problems.push(nameTaken('injection', key, entry, first))
      if (first) return []
      taken.set(key, entry)
      return [{ ...entry, tools: takeTools(entry.tools, known) }]
    })
}

interface Known {
  readonly tools: Map<string, Tool>
  readonly dependencies: ReadonlyMap<string, Dependency>
  readonly consentOperations: ReadonlyMap<string, ConsentOperation>
  readonly problems: Problem[]
}

function takeNames<T extends Origin & ({ name: string } | { key: string })>(
  items: readonly T[],
  kind: string,
  problems: Problem[],
): Map<string, T> {
  const taken = new Map<string, T>()
  for (const item of items) {
    const name = 'key' in item ? item.key : item.name
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
  return problem(dependency, `dependency:${dependency.name}`, 'dependsOn', `Dependency "${dependency.name}" ${message}`)
}

function takeConsentOperations(units: readonly CheckedUnit[], problems: Problem[]): Map<string, ConsentOperation> {
  const taken = new Map<string, ConsentOperation>()
  for (const unit of units) {
    for (const operation of unit.consentOperations) {
      const first = taken.get(operation.name)
      if (!first) taken.set(operation.name, operation)
      else if (first.weight !== operation.weight || first.reason !== operation.reason) {
        const text = `Consent operation "${operation.name}" is declared twice and differently; the earlier one stays.`
        problems.push(problem(unit, `consent:${operation.name}`, 'consentOperations', text))
      }
    }
  }
  return taken
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
  for (const name of tool.requires) {
    if (known.dependencies.has(name)) continue
    const hint = didYouMean(name, known.dependencies.keys())
    faults.push(
      problem(tool, subject, 'requires', `Tool "${tool.name}" requires "${name}", which nothing defines.${hint}`),
    )
  }
  for (const name of tool.consent) {
    if (known.consentOperations.has(name)) continue
    const hint = didYouMean(name, known.consentOperations.keys())
    faults.push(
      problem(tool, subject, 'consent', `Tool "${tool.name}" asks for "${name}", which no capability declares.${hint}`),
    )
  }
  return faults
}

function nameTaken(kind: string, name: string, origin: Origin, first: Origin): Problem {
  const text = `The ${kind} name "${name}" is taken by ${first.unit} (${first.source}); the earlier one stays.`
  return { ...problem(origin, `${kind}:${name}`, 'name', text), mend: `Rename one of the two.` }
}

function problem(origin: Origin, subject: string, field: string, message: string): Problem {
  return { severity: 'error', code: 'DEFINITION_INVALID', where: origin.unit, subject, field, message }
}
