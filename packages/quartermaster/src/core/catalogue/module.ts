import {
  AppError,
  type DependencyStatus,
  type MissingDependency,
  type Platform,
  type Problem,
  type RecheckAnswer,
  type ReloadReport,
} from '../../contracts/index.ts'
import { didYouMean, runToEnd } from '../kernel/index.ts'
import { brand, kindOf } from './brand.ts'
import { type CheckedUnit, checkUnit } from './check-unit.ts'
import { type CheckContext, type CheckDeps, checkResolver, ProblemList } from './checks.ts'
import {
  type Capability,
  type CapabilityResolver,
  type DependencyDefinition,
  type Injection,
  type Op,
} from './definitions.ts'
import { type Definitions, type Generation, type Tool } from './generation.ts'
import { type ProgramService, type WebService } from './sources.ts'

/** The project folder and the data folder, for modules that touch files. */
export interface Paths {
  readonly projectDir: string
  readonly dataDir: string
  readonly configFile?: string | undefined
}

export interface Secrets {
  get(name: string): string | undefined
  /** Why the secrets last read are outdated; `undefined` while they are current. */
  whyUnread?(): string | undefined
  /** Calls back whenever the secrets are read again. Returns the unsubscribe function. */
  onChange?(listener: () => void): () => void
}

/** All definitions and their availability, for modules that manage them. It shows more than any one agent may see. */
export interface RegistryService {
  generation(): Generation
  problems(): readonly Problem[]
  dependencies(): DependencyStatus[]
  availability(tool: Tool): { readonly active: boolean; readonly recovering: boolean }
  missing(tool: Tool): MissingDependency[]
  /** `name` is a dependency, tool or capability; prefix it (`tool:x`) where it is ambiguous. */
  recheck(name: string, options: { force: boolean }): Promise<RecheckAnswer>
  /** Reads configuration, agents and definitions again. Running calls finish on the generation they started with. */
  reload(): Promise<ReloadReport>
}

/** The services a module can ask for by name. It gets exactly those. */
export interface Services extends Platform {
  paths: Paths
  secrets: Secrets
  registry: RegistryService
  web: WebService
  programs: ProgramService
}

type Definition = Capability | DependencyDefinition | Injection | Op

export interface ModuleDefinition<N extends keyof Services = keyof Services> {
  readonly needs: readonly N[]
  create(services: Pick<Services, N>): Definition | readonly Definition[]
}

/** Defines a module that needs services. A module without needs exports its definitions directly. */
export function defineModule<const N extends keyof Services>(definition: ModuleDefinition<N>): ModuleDefinition<N> {
  return brand('module', { ...definition })
}

/**
 * Collects the definitions among a module's exports: single ones, arrays of them, and what its factories return. `where` names the
 * file in problems.
 */
export function collectDefinitions(
  exports: Record<string, unknown>,
  services: Partial<Services>,
  where: string,
): Definitions & { problems: Problem[] } {
  const found = new Set<unknown>()
  for (const value of Object.values(exports)) addExport(value, services, found)
  const of = <T>(kind: string) => [...found].filter(value => kindOf(value) === kind) as T[]
  const capabilities = of<Capability>('capability')
  const dependencies = of<DependencyDefinition>('dependency')
  const injections = of<Injection>('injection')
  const placed = new Set<unknown>([
    ...[...capabilities, ...injections].flatMap(bundle => bundle.tools),
    ...capabilities.flatMap(({ prompts, resources }) => [...prompts, ...resources]),
  ])
  const problems = (['tool', 'prompt', 'resource'] as const).flatMap(kind =>
    of<{ name: string }>(kind)
      .filter(one => !placed.has(one))
      .map(one => looseDefinition(kind, one.name, where)),
  )
  if (found.size === 0) problems.push(emptyModule(where))
  return { capabilities, dependencies, injections, ops: of<Op>('op'), problems }
}

function addExport(value: unknown, services: Partial<Services>, found: Set<unknown>): void {
  if (Array.isArray(value)) for (const item of value) addExport(item, services, found)
  else if (kindOf(value) === 'module') addExport(create(value as ModuleDefinition, services), services, found)
  else if (kindOf(value)) found.add(value)
}

function create(module: ModuleDefinition, services: Partial<Services>): unknown {
  for (const need of module.needs) {
    if (Object.hasOwn(services, need)) continue
    const hint = didYouMean(need, Object.keys(services))
    throw new AppError('DEFINITION_INVALID', `It needs "${need}", which does not exist.${hint}`)
  }
  const given = Object.fromEntries(module.needs.map(need => [need, services[need]]))
  const made: unknown = module.create(given as unknown as Services)
  if (made instanceof Promise) {
    // The promise is not awaited, so its rejection has no other handler.
    made.catch(() => {})
    throw new AppError('DEFINITION_INVALID', 'Its "create" must give definitions at once, not a promise.')
  }
  return made
}

function looseDefinition(kind: 'tool' | 'prompt' | 'resource', name: string, where: string): Problem {
  return {
    severity: 'warning',
    code: 'DEFINITION_INVALID',
    where,
    subject: `${kind}:${name}`,
    message: `${kind.charAt(0).toUpperCase()}${kind.slice(1)} "${name}" is exported by itself, so no agent can be given it.`,
    fix: `Put it into the ${kind}s of a defineCapability and export that.`,
  }
}

function emptyModule(where: string): Problem {
  return {
    severity: 'warning',
    code: 'DEFINITION_INVALID',
    where,
    message: 'The file exports no capability, no dependency and no op.',
    fix: 'Export a defineCapability, or start the name of a helper file with "_".',
  }
}

/** Checks a capability that the host program registered, as a unit of its own. */
export function checkRegistered(resolver: CapabilityResolver, deps: CheckDeps): CheckedUnit {
  refuseOtherThings(resolver)
  const unit = `registered:${resolver.key}`
  const checked =
    kindOf(resolver) === 'capability'
      ? checkOwn(unit, { capabilities: [resolver as Capability], dependencies: [], injections: [] }, deps)
      : checkForeign(resolver, unit, deps)
  return refuseProblems(checked)
}

/** Checks an op that the host program registered, as a unit of its own. */
export function checkRegisteredOp(op: Op, deps: CheckDeps): CheckedUnit {
  if (kindOf(op) !== 'op')
    throw new AppError('DEFINITION_INVALID', 'The registered object is no op. Make it with registerOp.')
  const unit = `registered:${op.id}`
  return refuseProblems(checkOwn(unit, { capabilities: [], dependencies: [], injections: [], ops: [op] }, deps))
}

function refuseProblems(checked: CheckedUnit): CheckedUnit {
  if (checked.problems.length === 0) return checked
  const lines = checked.problems.map(problem => problem.message)
  throw new AppError('DEFINITION_INVALID', lines.join('\n'), { details: { problems: checked.problems } })
}

function refuseOtherThings(resolver: unknown): void {
  const given = resolver as Partial<CapabilityResolver> | null | undefined
  const isResolver = typeof given?.resolve === 'function' && Array.isArray(given.tools)
  const hasHandlers = isResolver && kindOf(given) === undefined && given.tools?.some(tool => 'handler' in Object(tool))
  if (isResolver && !hasHandlers) return
  const what = hasHandlers
    ? 'Its tools have handlers, so make it with defineCapability.'
    : 'It has no "tools" or no "resolve".'
  throw new AppError('DEFINITION_INVALID', `The registered object is no capability. ${what}`)
}

const SOURCE = { source: 'registered', kind: 'code' } as const

function checkOwn(unit: string, definitions: Definitions, deps: CheckDeps): CheckedUnit {
  return runToEnd(checkUnit({ id: unit, hash: unit, definitions }, SOURCE, deps))
}

function checkForeign(resolver: CapabilityResolver, unit: string, deps: CheckDeps): CheckedUnit {
  const origin = { source: SOURCE.source, unit }
  const problems = new ProblemList(unit)
  const context: CheckContext = { kind: SOURCE.kind, origin, unitHash: unit, problems, deps }
  const capability = checkResolver(resolver, context)
  const capabilities = capability ? [capability] : []
  return {
    ...origin,
    kind: SOURCE.kind,
    hash: unit,
    capabilities,
    injections: [],
    dependencies: [],
    consentOperations: [],
    knowledge: [],
    ops: [],
    declarations: [],
    claims: [],
    problems: problems.all,
  }
}
