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
import { createRecords, isThere } from './records.ts'
import { afterCallFailure, provedAt } from './state.ts'
import { createWatcher } from './watcher.ts'

/** What needs dependencies: a tool, a prompt, a resource. */
export interface Needing {
  readonly requires: readonly string[]
}

/** Whether a tool can be called now. `recovering`: it is listed, and a call waits. */
export interface Availability {
  readonly active: boolean
  readonly recovering: boolean
}

/** Knows what works right now. */
export interface Health {
  /** Changes whenever what an agent can see may have changed. */
  version(): number
  availability(item: Needing): Availability
  /** What a disabled tool lacks, with reasons; what is recovering only when asked for. */
  missing(item: Needing, options?: { withRecovering?: boolean }): MissingDependency[]
  dependency(name: string): DependencyStatus
  dependencies(): DependencyStatus[]
  /** `name` is a dependency, tool or capability; `tool:x` and the like where that is ambiguous. */
  recheck(name: string, options?: { force?: boolean }): Promise<RecheckAnswer>
  /** Looks again at what one of them needs. */
  recheckFor(item: Needing): Promise<RecheckAnswer>
  /** Resolves when nothing it needs is recovering any more, or the time or the signal ends it. */
  settled(item: Needing, options: { budgetMs: number; signal: AbortSignal }): Promise<void>
  /** A real call failed because of this dependency. */
  reportFailure(name: string, reason: string): void
  /** Begins looking at what is about to come, while the rest of it is still being checked. */
  lookAhead(dependencies: ReadonlyMap<string, Dependency>): Promise<void>
  /** Looks at dependencies that were never looked at, before their tools are offered. */
  prepare(next: Generation): Promise<void>
  /** Takes over a generation that was swapped in. */
  adopt(generation: Generation): void
  /** Looks at everything that has no verdict yet. */
  probeNew(): Promise<void>
  /** The watcher: looks in the background, with jitter. */
  watch(): void
  stop(): void
}

export interface HealthDeps {
  readonly clock: Clock
  readonly random: Random
  readonly emitter: Emitter
  readonly settings: Settings
  readonly catalogue: Pick<Catalogue, 'current'>
  /** What the owner's configuration says about a dependency. */
  options(name: string): DependencyOptions
  hasSecret(name: string): boolean
}

export function createHealth(deps: HealthDeps): Health {
  const { clock, catalogue } = deps
  const records = createRecords(deps)
  const rounds = createProbeRounds({ ...deps, records })
  const rechecker = createRechecker({ ...deps, records, rounds, dependencies: () => catalogue.current().dependencies })
  /** What those do who wait when something is different, and what they wait for. */
  const waiting = new Map<() => void, Needing>()
  const tellWaiting = () => {
    for (const look of [...waiting.keys()]) look()
  }
  const isAwaited = (name: string) =>
    [...waiting.values()].some(({ requires }) => requires.some(one => records.effective(one).root === name))
  const watcher = createWatcher({ ...deps, records, rounds, isAwaited })
  records.onChange(tellWaiting)

  /** Parents that were looked at before are left alone: a reload must not probe what it did not bring. */
  async function probeUnseen(dependencies: ReadonlyMap<string, Dependency>): Promise<void> {
    const isUnseen = (dependency: Dependency) => records.record(dependency).checkedAt === undefined
    const names = [...dependencies.values()].filter(isUnseen).map(dependency => dependency.name)
    await rounds.round(names, { dependencies, mayProbe: isUnseen })
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
        if (!isThere(state)) return DISABLED
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
          waiting.delete(look)
          cancel()
          signal.removeEventListener('abort', end)
          resolve()
        }
        const look = () => {
          if (!isRecovering(item)) end()
        }
        waiting.set(look, item)
        const cancel = clock.after(budgetMs, end)
        signal.addEventListener('abort', end, { once: true })
      })
    },
    reportFailure(name, reason) {
      const dependency = catalogue.current().dependencies.get(name)
      if (dependency) records.update(dependency, record => afterCallFailure(record, reason, clock.now()))
    },
    lookAhead: probeUnseen,
    prepare: next => probeUnseen(next.dependencies),
    adopt(generation) {
      records.adopt(generation)
      watcher.adopt(generation.dependencies.values())
      // A dependency that is no longer defined is not waited for.
      tellWaiting()
    },
    probeNew: () => probeUnseen(catalogue.current().dependencies),
    watch: () => watcher.start(),
    stop: () => watcher.stop(),
  }
}

const AVAILABLE: Availability = Object.freeze({ active: true, recovering: false })
const RECOVERING: Availability = Object.freeze({ active: true, recovering: true })
const DISABLED: Availability = Object.freeze({ active: false, recovering: false })

/** The dependencies whose absence disables something: what is required, and all that this depends on. */
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
    // Not those of the generation: it has one of several that share an address, and each agent may have another.
    ...bundles.flatMap(({ prompts, resources }) => [...prompts, ...resources]),
  ]
}

/**
 * The dependency that an error blames, if it is one that the definition needs. A dependency that asks callers to come back
 * later is up: being busy is no reason to recheck it or to take it away.
 */
export function blamedIn({ code, details }: AppError, { requires }: Pick<Needing, 'requires'>): string | undefined {
  if (code !== 'DEPENDENCY_UNAVAILABLE' || typeof details?.retryAfterMs === 'number') return undefined
  const { dependency } = details ?? {}
  return typeof dependency === 'string' && requires.includes(dependency) ? dependency : undefined
}

/** A state as sentences say it. */
export function stateInWords(state: DependencyState): string {
  return state === 'optedOut' ? 'switched off' : state
}

/** Why a tool is disabled, in a sentence for each thing it lacks. */
export function missingInWords(missing: readonly MissingDependency[]): string {
  return missing.map(one => `${one.dependency} is ${stateInWords(one.state)}: ${one.reason}`).join(' ')
}
