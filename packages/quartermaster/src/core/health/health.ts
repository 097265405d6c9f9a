import {
  AppError,
  type DependencyOptions,
  type DependencyState,
  type DependencyStatus,
  type MissingDependency,
  type RecheckAnswer,
  type Settings,
} from '../../contracts/index.ts'
import { type Catalogue, type Dependency, type Generation } from '../catalogue/index.ts'
import { type Clock, didYouMean, type Emitter, type Random } from '../kernel/index.ts'
import { createProbeRounds, parseAddress, requirementsOf } from './probe.ts'
import { createRechecker } from './recheck.ts'
import { createRecords, isAvailable } from './records.ts'
import { afterCallFailure, provedAt } from './state.ts'
import { createWatcher } from './watcher.ts'

/** A tool, prompt or resource that needs dependencies. */
export interface Needing {
  readonly requires: readonly string[]
}

/** Whether a tool can be called now. `recovering`: it is listed, and calls wait. */
export interface Availability {
  readonly active: boolean
  readonly recovering: boolean
}

/** The present state of all dependencies. */
export interface Health {
  /** Changes whenever an agent's view may have changed. */
  version(): number
  availability(item: Needing): Availability
  /** Missing dependencies with reasons; recovering ones only on request. */
  missing(item: Needing, options?: { withRecovering?: boolean }): MissingDependency[]
  dependency(name: string): DependencyStatus
  dependencies(): DependencyStatus[]
  /** `name` is a dependency, tool or capability; prefix it (`tool:x`) where it is ambiguous. */
  recheck(name: string, options?: { force?: boolean }): Promise<RecheckAnswer>
  /** Rechecks the dependencies of an item. */
  recheckFor(item: Needing): Promise<RecheckAnswer>
  /** Resolves when none of its dependencies is recovering any more, or at the time limit or the signal. */
  settled(item: Needing, options: { budgetMs: number; signal: AbortSignal }): Promise<void>
  /** Reports that a call failed because of this dependency. */
  reportFailure(name: string, reason: string): void
  /** Starts probing dependencies of definitions that are still being checked. */
  lookAhead(dependencies: ReadonlyMap<string, Dependency>): Promise<void>
  /** Probes new dependencies before their tools are offered. */
  prepare(next: Generation): Promise<void>
  /** Switches to a new generation. */
  adopt(generation: Generation): void
  /** Probes every dependency without a verdict. */
  probeNew(): Promise<void>
  /** Starts the background watcher. */
  watch(): void
  stop(): void
}

export interface HealthDeps {
  readonly clock: Clock
  readonly random: Random
  readonly emitter: Emitter
  readonly settings: Settings
  readonly catalogue: Pick<Catalogue, 'current'>
  /** The owner's options of a dependency. */
  options(name: string): DependencyOptions
  hasSecret(name: string): boolean
}

export function createHealth(deps: HealthDeps): Health {
  const { clock, catalogue } = deps
  const records = createRecords(deps)
  const rounds = createProbeRounds({ ...deps, records })
  const rechecker = createRechecker({ ...deps, records, rounds, dependencies: () => catalogue.current().dependencies })
  /** Listeners of waiting calls, with what they wait for. */
  const waiting = new Map<() => void, Needing>()
  const notifyWaiting = () => {
    for (const check of [...waiting.keys()]) check()
  }
  const isAwaited = (name: string) =>
    [...waiting.values()].some(({ requires }) => requires.some(one => records.effective(one).root === name))
  const watcher = createWatcher({ ...deps, records, rounds, isAwaited })
  records.onChange(notifyWaiting)

  /** Probes only dependencies without a verdict: a reload must not probe what it did not add. */
  async function probeUnknown(dependencies: ReadonlyMap<string, Dependency>): Promise<void> {
    const isUnknown = (dependency: Dependency) => records.record(dependency).checkedAt === undefined
    const names = [...dependencies.values()].filter(isUnknown).map(dependency => dependency.name)
    await rounds.round(names, { dependencies, mayProbe: isUnknown })
  }

  function find(name: string): Dependency {
    const { dependencies } = catalogue.current()
    const dependency = dependencies.get(name)
    if (dependency) return dependency
    throw new AppError(
      'DEPENDENCY_UNKNOWN',
      `There is no dependency "${name}".${didYouMean(name, dependencies.keys())}`,
    )
  }

  function isRecovering(item: Needing): boolean {
    return item.requires.some(name => records.effective(name).state === 'recovering')
  }

  function statusOf(dependency: Dependency): DependencyStatus {
    const { state, reason, since } = records.effective(dependency.name)
    const record = records.record(dependency)
    const { checkedAt, durationMs } = record
    const status: DependencyStatus = {
      name: dependency.name,
      state,
      reason,
      since: Math.round(since),
      dependsOn: [...dependency.dependsOn],
    }
    if (checkedAt !== undefined) status.checkedAt = Math.round(checkedAt)
    if (durationMs !== undefined) status.durationMs = Math.round(durationMs)
    if (provedAt(record) !== undefined) status.isProving = true
    if (dependency.fix !== undefined) status.fix = dependency.fix
    return status
  }

  return {
    version: () => records.version(),
    availability({ requires }) {
      if (requires.length === 0) return AVAILABLE
      let recovering = false
      for (const name of requires) {
        const { state } = records.effective(name)
        if (!isAvailable(state)) return DISABLED
        recovering ||= state === 'recovering'
      }
      return recovering ? RECOVERING : AVAILABLE
    },
    missing: ({ requires }, options) => rechecker.missing(requires, options),
    dependency: name => statusOf(find(name)),
    dependencies: () =>
      [...catalogue.current().dependencies.values()].filter(({ isUsed }) => isUsed?.() ?? true).map(statusOf),
    async recheck(name, options) {
      const generation = catalogue.current()
      return rechecker.recheck(requirementsOf(parseAddress(name, generation), generation), options)
    },
    recheckFor: ({ requires }) => rechecker.recheck(requires),
    settled(item, { budgetMs, signal }) {
      if (!isRecovering(item) || signal.aborted) return Promise.resolve()
      return new Promise(resolve => {
        const end = () => {
          waiting.delete(check)
          cancel()
          signal.removeEventListener('abort', end)
          resolve()
        }
        const check = () => {
          if (!isRecovering(item)) end()
        }
        waiting.set(check, item)
        const cancel = clock.after(budgetMs, end)
        signal.addEventListener('abort', end, { once: true })
      })
    },
    reportFailure(name, reason) {
      const dependency = catalogue.current().dependencies.get(name)
      if (dependency) records.update(dependency, record => afterCallFailure(record, reason, clock.now()))
    },
    lookAhead: probeUnknown,
    prepare: next => probeUnknown(next.dependencies),
    adopt(generation) {
      records.adopt(generation)
      watcher.adopt(generation.dependencies.values())
      // Calls stop waiting for removed dependencies.
      notifyWaiting()
    },
    probeNew: () => probeUnknown(catalogue.current().dependencies),
    watch: () => watcher.start(),
    stop: () => watcher.stop(),
  }
}

const AVAILABLE: Availability = Object.freeze({ active: true, recovering: false })
const RECOVERING: Availability = Object.freeze({ active: true, recovering: true })
const DISABLED: Availability = Object.freeze({ active: false, recovering: false })

/** Required dependencies, with all their parents. */
export function neededDependencies(generation: Generation): ReadonlySet<string> {
  const needed = new Set<string>()
  const add = (name: string) => {
    if (needed.has(name)) return
    needed.add(name)
    generation.dependencies.get(name)?.dependsOn.forEach(add)
  }
  for (const { requires } of needing(generation)) requires.forEach(add)
  return needed
}

function needing({ tools, injections, capabilities }: Generation) {
  const bundles = [...capabilities.values()]
  return [
    ...tools.values(),
    ...injections.flatMap(injection => injection.tools),
    // Not the generation's resources: it has one per URI, and agents may have another.
    ...bundles.flatMap(({ prompts, resources }) => [...prompts, ...resources]),
  ]
}

/**
 * The dependency that an error blames, if the definition needs it. With a retry time it is only busy, hence up, and neither
 * rechecked nor disabled.
 */
export function blamedIn({ code, details }: AppError, { requires }: Pick<Needing, 'requires'>): string | undefined {
  if (code !== 'DEPENDENCY_UNAVAILABLE' || typeof details?.retryAfterMs === 'number') return undefined
  const { dependency } = details ?? {}
  return typeof dependency === 'string' && requires.includes(dependency) ? dependency : undefined
}

export function stateInWords(state: DependencyState): string {
  return state === 'optedOut' ? 'switched off' : state
}

/** Why a tool is disabled, one sentence per missing dependency. */
export function missingInWords(missing: readonly MissingDependency[]): string {
  return missing.map(one => `${one.dependency} is ${stateInWords(one.state)}: ${one.reason}`).join(' ')
}
