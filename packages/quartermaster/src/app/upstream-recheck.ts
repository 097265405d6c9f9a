import type { DependencyStatus, MissingDependency, RecheckAnswer, StatusReport } from '../contracts/index.ts'
import { parseAddress, requirementsOf } from '../core/health/index.ts'
import type { Clock } from '../core/kernel/index.ts'
import type { Core } from './build-core.ts'
import { asKept } from './kept-standing.ts'
import type { Runtime } from './runtime.ts'
import { asUpstreams } from './upstream-dependencies.ts'

export interface UpstreamRecheckDeps {
  readonly core: Pick<Core, 'health' | 'catalogue'>
  readonly upstreams: Pick<Runtime['upstreams'], 'statuses'>
}

export interface RecheckRequest {
  readonly name: string
  readonly force: boolean
  /** Who keeps servers. */
  readonly from: StatusReport['from']
}

/**
 * Looks again, and answers as `status` tells: health takes a server for there while it starts, and nobody knows yet whether one
 * is that has never answered.
 */
export async function recheckWithUpstreams(
  { core: { health, catalogue }, upstreams }: UpstreamRecheckDeps,
  { name, force, from }: RecheckRequest,
  clock: Pick<Clock, 'now'>,
): Promise<RecheckAnswer> {
  const answer = await health.recheck(name, { force })
  const generation = catalogue.current()
  const requires = new Set(requirementsOf(parseAddress(name, generation), generation))
  const needed = health.dependencies().filter(dependency => requires.has(dependency.name))
  return withUnheard(answer, asUpstreams(needed, asKept(upstreams.statuses(), from)), Math.round(clock.now()))
}

function withUnheard(answer: RecheckAnswer, needed: readonly DependencyStatus[], now: number): RecheckAnswer {
  const known = new Set(answer.missing.map(({ dependency }) => dependency))
  const unheard = needed.filter(({ name, state }) => !IS_THERE.has(state) && !known.has(name))
  if (unheard.length === 0) return answer
  const missing = [...answer.missing, ...unheard.map(one => toMissing(one, now))]
  return { ...answer, active: false, missing, nextRecheckAt: now }
}

const IS_THERE: ReadonlySet<DependencyStatus['state']> = new Set(['up', 'recovering'])

/** Nothing is in the way of looking again at once. */
function toMissing({ name, state, reason, since, fix }: DependencyStatus, now: number): MissingDependency {
  const missing = { dependency: name, state, reason, ageMs: Math.max(0, Math.round(now - since)), nextRecheckAt: now }
  return fix === undefined ? missing : { ...missing, fix }
}
