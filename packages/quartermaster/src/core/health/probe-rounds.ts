import type { DependencyOptions, Settings } from '../../contracts/index.ts'
import type { Dependency } from '../catalogue/index.ts'
import type { Clock } from '../kernel/index.ts'
import { isThere } from './availability.ts'
import { runProbe } from './prober.ts'
import type { Records } from './records.ts'
import { afterProbe } from './transitions.ts'

export interface ProbeRounds {
  /** Probes one dependency now, or joins the probe that is under way: never two at a time. */
  probe(dependency: Dependency, options?: LookOptions): Promise<void>
  isUnderWay(dependency: Dependency): boolean
  /**
   * Probes in parallel, parents before children; a child whose parent is not there is left alone.
   * `mayProbe` can hold single ones back (cool-down). Answers the names that were looked at.
   */
  round(names: Iterable<string>, options: RoundOptions): Promise<Set<string>>
}

export interface LookOptions {
  /** Whether a call or a person wants to know. */
  readonly isRequested?: boolean
  /** Whether calls wait for it to come back. */
  readonly isAwaited?: boolean
}

export interface RoundOptions {
  readonly dependencies: ReadonlyMap<string, Dependency>
  /** Whether a call or a person wants to know. */
  readonly isRequested?: boolean
  mayProbe?(dependency: Dependency): boolean
}

export interface ProbeRoundsDeps {
  readonly records: Records
  readonly clock: Clock
  readonly settings: Settings
  options(name: string): DependencyOptions
  hasSecret(name: string): boolean
}

export function createProbeRounds({ records, clock, settings, options, hasSecret }: ProbeRoundsDeps): ProbeRounds {
  const underWay = new Map<string, Promise<void>>()

  async function look(dependency: Dependency, wishes: Required<LookOptions>): Promise<void> {
    const timeoutMs = options(dependency.name).probeTimeoutMs ?? dependency.timeoutMs ?? settings.probeTimeoutMs
    const outcome = await runProbe({ probe: dependency.probe, timeoutMs, clock, ...wishes, hasSecret })
    records.update(dependency, record => afterProbe(record, outcome, records.policy(dependency)))
  }

  function probe(dependency: Dependency, { isRequested = false, isAwaited = false }: LookOptions = {}): Promise<void> {
    if (dependency.isUsed?.() === false) return Promise.resolve()
    const key = `${dependency.name}@${dependency.hash}`
    const begin = () => look(dependency, { isRequested, isAwaited }).finally(() => underWay.delete(key))
    const current = underWay.get(key) ?? begin()
    underWay.set(key, current)
    return current
  }

  async function round(
    names: Iterable<string>,
    { dependencies, isRequested = false, mayProbe = () => true }: RoundOptions,
  ): Promise<Set<string>> {
    const probed = new Set<string>()
    const visits = new Map<string, Promise<void>>()
    const visit = (name: string): Promise<void> => {
      const known = visits.get(name) ?? visitOnce(name)
      visits.set(name, known)
      return known
    }
    const visitOnce = async (name: string): Promise<void> => {
      const dependency = dependencies.get(name)
      if (!dependency || dependency.isUsed?.() === false || records.record(dependency).state === 'optedOut') return
      const parents = dependency.dependsOn.flatMap(parent => dependencies.get(parent) ?? [])
      await Promise.all(
        parents.filter(parent => records.record(parent).state !== 'up').map(parent => visit(parent.name)),
      )
      if (!parents.every(parent => isReachable(parent, dependencies))) return
      if (!mayProbe(dependency)) return
      probed.add(name)
      await probe(dependency, { isRequested })
    }
    await Promise.all([...names].map(visit))
    return probed
  }

  /** Itself and all its parents are there. */
  function isReachable(
    dependency: Dependency,
    dependencies: ReadonlyMap<string, Dependency>,
    seen = new Set<string>(),
  ): boolean {
    if (seen.has(dependency.name)) return true
    seen.add(dependency.name)
    if (!isThere(records.record(dependency).state)) return false
    return dependency.dependsOn.every(name => {
      const parent = dependencies.get(name)
      return parent !== undefined && isReachable(parent, dependencies, seen)
    })
  }

  return { probe, round, isUnderWay: dependency => underWay.has(`${dependency.name}@${dependency.hash}`) }
}
