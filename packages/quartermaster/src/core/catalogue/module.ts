import {
  AppError,
  type DependencyStatus,
  type MissingDependency,
  type Platform,
  type Problem,
  type RecheckAnswer,
  type ReloadReport,
} from '../../contracts/index.ts'
import { didYouMean } from '../kernel/index.ts'
import { brand, kindOf } from './brand.ts'
import type { Capability } from './capability.ts'
import type { DependencyDefinition } from './dependency.ts'
import type { Generation, Tool } from './generation.ts'
import type { Injection } from './injection.ts'
import type { Op } from './op.ts'
import type { ProgramDesk, WebDesk } from './outside.ts'
import type { Definitions } from './source.ts'

/** What the project folder and the data folder are, for modules that touch files. */
export interface Paths {
  readonly projectDir: string
  readonly dataDir: string
  /** The configuration file in use, which may have any name. */
  readonly configFile?: string | undefined
}

/** Texts that are nobody else's business. */
export interface Secrets {
  /** The secret's text, or `undefined`. */
  get(name: string): string | undefined
  /** Why what was read last is not what is there now; nothing while it is. */
  whyUnread?(): string | undefined
  /** Calls back whenever they are read anew. Returns how to stop. */
  onChange?(listener: () => void): () => void
}

/** All definitions and what works of them, for modules that look after these. It shows more than any one agent may see. */
export interface RegistryDesk {
  generation(): Generation
  /** Everything that is wrong with configuration, definitions and agents now. */
  problems(): readonly Problem[]
  dependencies(): DependencyStatus[]
  availability(tool: Tool): { readonly active: boolean; readonly recovering: boolean }
  missing(tool: Tool): MissingDependency[]
  /** `name` is a dependency, tool or capability; `tool:x` and the like where that is ambiguous. */
  recheck(name: string, options: { force: boolean }): Promise<RecheckAnswer>
  /** Reads configuration, agents and definitions anew. Calls that are under way end on what they began with. */
  reload(): Promise<ReloadReport>
}

/** What a module can ask for by name. It gets exactly what it asked for. */
export interface Services extends Platform {
  paths: Paths
  secrets: Secrets
  registry: RegistryDesk
  /** Servers elsewhere, behind the walls around this machine and network. */
  web: WebDesk
  /** Programs on this machine. */
  programs: ProgramDesk
}

export type Definition = Capability | DependencyDefinition | Injection | Op

export interface ModuleDefinition<N extends keyof Services = keyof Services> {
  readonly needs: readonly N[]
  create(services: Pick<Services, N>): Definition | readonly Definition[]
}

/** Defines a module that needs parts of the platform. One that needs nothing exports its definitions directly. */
export function defineModule<const N extends keyof Services>(definition: ModuleDefinition<N>): ModuleDefinition<N> {
  return brand('module', { ...definition })
}

/**
 * The definitions among a module's exports: single ones, arrays of them, and what its factories make.
 * The place (`where`) is for the problems' sake.
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
    if (!Object.hasOwn(services, need)) {
      throw new AppError(
        'DEFINITION_INVALID',
        `It needs "${need}", which does not exist.${didYouMean(need, Object.keys(services))}`,
      )
    }
  }
  const made: unknown = module.create(
    Object.fromEntries(module.needs.map(need => [need, services[need]])) as unknown as Services,
  )
  if (made instanceof Promise) {
    // Whatever becomes of it, nobody waits for it.
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
    mend: `Put it into the ${kind}s of a defineCapability and export that.`,
  }
}

function emptyModule(where: string): Problem {
  return {
    severity: 'warning',
    code: 'DEFINITION_INVALID',
    where,
    message: 'The file exports no capability, no dependency and no op.',
    mend: 'Export a defineCapability, or start the name of a helper file with "_".',
  }
}
