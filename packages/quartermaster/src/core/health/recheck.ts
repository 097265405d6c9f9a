import type { MissingDependency, RecheckAnswer, Settings } from '../../contracts/index.ts'
import type { Dependency } from '../catalogue/index.ts'
import type { Clock } from '../kernel/index.ts'
import type { ProbeRounds } from './probe.ts'
import { isAvailable, type Records } from './records.ts'
import { provedAt } from './state.ts'

interface Rechecker {
  /** Probes the missing ones of these again, with their parents. */
  recheck(requires: readonly string[], options?: { force?: boolean }): Promise<RecheckAnswer>
  /** The missing ones of these, with reasons; recovering ones only on request. */
  missing(requires: readonly string[], options?: { withRecovering?: boolean }): MissingDependency[]
}

interface RecheckerDeps {
  readonly records: Records
  readonly rounds: ProbeRounds
  readonly clock: Clock
  readonly settings: Settings
  dependencies(): ReadonlyMap<string, Dependency>
}

export function createRechecker({ records, rounds, clock, settings, dependencies }: RecheckerDeps): Rechecker {
  // Only rechecks count for the cool-down. If the probe at start counted, the first call after it would never recheck.
  const recheckedAt = new WeakMap<Dependency, number>()
  // A dependency that was up in between has a new failure and may be rechecked immediately.
  records.onChange(dependency => {
    if (records.record(dependency).state === 'up') recheckedAt.delete(dependency)
  })

  function mayRecheckAt(dependency: Dependency): number {
    const last = recheckedAt.get(dependency)
    if (last === undefined) return 0
    const record = records.record(dependency)
    const seconds = record.threw ? settings.recheckAfterThrowSeconds : settings.recheckCooldownSeconds
    return Math.min(last + seconds * 1000, provedAt(record) ?? Number.POSITIVE_INFINITY)
  }

  /** When a recheck can succeed: not before the dependency has answered for long enough. */
  function isWorthRecheckAt(dependency: Dependency): number {
    return provedAt(records.record(dependency)) ?? mayRecheckAt(dependency)
  }

  function claim(dependency: Dependency, force: boolean): boolean {
    if (rounds.isUnderWay(dependency)) return true
    if (!force && clock.now() < mayRecheckAt(dependency)) return false
    recheckedAt.set(dependency, clock.now())
    return true
  }

  function missing(requires: readonly string[], { withRecovering = false } = {}): MissingDependency[] {
    const all = dependencies()
    const now = clock.now()
    return requires.flatMap(name => {
      const { state, reason, since, root } = records.effective(name)
      if (state === 'up' || (state === 'recovering' && !withRecovering)) return []
      const at = all.get(root)
      const isOff = at !== undefined && records.record(at).state === 'optedOut'
      const entry: MissingDependency = { dependency: name, state, reason, ageMs: Math.max(0, Math.round(now - since)) }
      if (at && !isOff) entry.nextRecheckAt = Math.round(Math.max(now, isWorthRecheckAt(at)))
      const fix = isOff ? `Switch it on in the configuration: dependencies.${root}.enabled.` : at?.fix
      return [fix === undefined ? entry : { ...entry, fix }]
    })
  }

  return {
    missing,
    async recheck(requires, { force = false } = {}) {
      const gone = requires.filter(name => !isAvailable(records.effective(name).state))
      const mayProbe = (one: Dependency) => claim(one, force)
      const probed = await rounds.round(gone, { dependencies: dependencies(), isRequested: true, mayProbe })
      const still = missing(requires)
      const times = still.flatMap(entry => entry.nextRecheckAt ?? [])
      const answer: RecheckAnswer = { active: still.length === 0, missing: still, probed: [...probed] }
      return times.length === 0 ? answer : { ...answer, nextRecheckAt: Math.min(...times) }
    },
  }
}
