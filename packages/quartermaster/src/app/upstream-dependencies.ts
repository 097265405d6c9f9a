import type { DependencyStatus, UpstreamStatus } from '../contracts/index.ts'
import { loginStep, withoutLoginStep } from '../core/kernel/index.ts'

/**
 * What tools need, as `upstreams` tells of those that are servers of others: health knows neither that one is switched off nor
 * what is to be done now.
 */
export function asUpstreams(
  dependencies: readonly DependencyStatus[],
  statuses: readonly UpstreamStatus[],
): DependencyStatus[] {
  const byDependency = new Map(statuses.map(status => [`upstream-${status.name}`, status]))
  return dependencies.map(dependency => {
    const upstream = byDependency.get(dependency.name)
    return upstream ? asUpstream(dependency, upstream) : dependency
  })
}

function asUpstream({ mend: logs, ...known }: DependencyStatus, status: UpstreamStatus): DependencyStatus {
  const { name, state, reason, unseen, hasSpoken } = status
  if (state === 'off') return { ...known, state: 'optedOut', reason }
  if (state === 'needsLogin') return { ...known, reason: withoutLoginStep(known.reason, name), mend: loginStep(name) }
  // Whoever has said nothing is not to be read.
  const mend = unseen ?? (hasSpoken ? logs : undefined)
  return mend === undefined ? known : { ...known, mend }
}
