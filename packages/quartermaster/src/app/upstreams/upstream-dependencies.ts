import { SWITCHED_OFF } from '../../adapters/mcp-upstream/index.ts'
import type { DependencyOptions, DependencyStatus, UpstreamStatus } from '../../contracts/index.ts'
import { neededLogin, upstreamBehind, upstreamDependency, withoutLoginStep } from '../../core/kernel/index.ts'
import type { Project } from '../project/project.ts'

/** What the owner says of something that tools need. A server of others is switched off in its own entry. */
export function dependencyOptionsIn(
  { dependencyOptions, upstreams }: Pick<Project, 'dependencyOptions' | 'upstreams'>,
  name: string,
): DependencyOptions {
  const options = dependencyOptions(name)
  const upstream = upstreamBehind(name)
  const entry = upstream === undefined ? undefined : upstreams().get(upstream)
  // An invalid entry was not switched off on purpose.
  return entry && !entry.enabled && entry.wrong === undefined ? { ...options, enabled: false } : options
}

/**
 * What tools need, as `upstreams` tells of those that are servers of others: health knows neither how one was switched off, nor
 * what is to be done now.
 */
export function asUpstreams(
  dependencies: readonly DependencyStatus[],
  statuses: readonly UpstreamStatus[],
): DependencyStatus[] {
  const byDependency = new Map(statuses.map(status => [upstreamDependency(status.name), status]))
  return dependencies.map(dependency => {
    const upstream = byDependency.get(dependency.name)
    return upstream ? asUpstream(dependency, upstream) : dependency
  })
}

function asUpstream({ fix: logs, ...known }: DependencyStatus, status: UpstreamStatus): DependencyStatus {
  const { name, state, reason, unseen, hasSpoken } = status
  if (state === 'off') return { ...known, ...(reason === SWITCHED_OFF ? { state: 'optedOut' } : {}), reason }
  if (state === 'needsLogin') {
    const { reason } = known
    return { ...known, reason: withoutLoginStep(reason, name), fix: neededLogin({ name, reason }) }
  }
  // A server that has written nothing has no log to read.
  const fix = unseen ?? (hasSpoken ? logs : undefined)
  // Its tools are not disabled while it starts, and it is unknown whether it has any.
  const isUnheard = known.state === 'up' && unseen !== undefined && UNHEARD.has(state)
  // What was never there has nothing to recover.
  const isLost = known.state === 'recovering' && unseen !== undefined && state === 'down'
  const standing = isUnheard ? 'unknown' : isLost ? 'down' : known.state
  return { ...known, state: standing, ...(fix === undefined ? {} : { fix }) }
}

/** Those that have not answered in this process. */
const UNHEARD: ReadonlySet<UpstreamStatus['state']> = new Set(['starting', 'idle'])
