import type { DependencyStatus, UpstreamStatus } from '../contracts/index.ts'
import { upstreamDependency } from '../core/kernel/index.ts'

type Felt = Pick<DependencyStatus, 'name' | 'state' | 'reason' | 'since' | 'checkedAt' | 'isProving'>

/**
 * Upstreams as their tools feel them. A connection may be up for a moment again and again; whether that counts, and since when
 * it does not, health has decided, and whoever asks in two ways is to be told the same.
 */
export function asFelt(statuses: readonly UpstreamStatus[], dependencies: readonly Felt[]): UpstreamStatus[] {
  const byName = new Map(dependencies.map(dependency => [dependency.name, dependency]))
  return statuses.map(status => {
    const felt = byName.get(upstreamDependency(status.name))
    if (!felt || !OWN.has(status.state) || (felt.state !== 'recovering' && felt.state !== 'down')) return status
    if (isJustUp(status, felt))
      return { ...status, state: 'starting', reason: 'It answers, and its tools are about to be there.' }
    const { state, since } = felt
    // What a connection that is up says of itself is no reason for this.
    return { ...status, state, since, reason: status.state === 'up' ? felt.reason : status.reason }
  })
}

/** It came up in this moment, and health, which knows it as it was before, is about to look. */
function isJustUp({ state, since }: UpstreamStatus, felt: Felt): boolean {
  return state === 'up' && felt.state === 'down' && !felt.isProving && (felt.checkedAt ?? since + 1) <= since
}

/** Others tell of something that health does not know, such as that a person has to sign in. */
const OWN: ReadonlySet<UpstreamStatus['state']> = new Set(['up', 'recovering', 'down'])
