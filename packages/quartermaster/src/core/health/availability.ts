import type { DependencyState } from '../../contracts/index.ts'
import type { DependencyRecord } from './record.ts'

/** What a dependency is worth now, its parents considered. */
export interface Effective {
  readonly state: DependencyState
  readonly reason: string
  readonly since: number
  /** The dependency that is really at fault, itself or one above it, and its own reason. */
  readonly root: string
  readonly rootReason: string
}

/** What is known around one dependency. `effective` is remembered by whoever gives it: diamonds would take for ever otherwise. */
export interface Surroundings {
  readonly record: DependencyRecord
  readonly parents: readonly string[]
  effective(name: string): Effective
}

/** A child is worth no more than its parents, whatever it last said itself. */
export function effectiveState(name: string, { record, parents, effective }: Surroundings): Effective {
  const own: Effective = {
    state: record.state,
    reason: record.reason,
    since: record.since,
    root: name,
    rootReason: record.reason,
  }
  if (record.state === 'optedOut') return own
  let worst = own
  for (const parent of parents) {
    const above = effective(parent)
    if (rank(above.state) < rank(worst.state) || (!isThere(above.state) && worst === own)) worst = above
  }
  if (worst === own) return own
  const state = worst.state === 'optedOut' ? 'down' : worst.state
  const { root, rootReason, since } = worst
  return { state, reason: `It needs "${root}": ${rootReason}`, since, root, rootReason }
}

/** Up and recovering count as there: a client that has seen a tool vanish will not call it again. */
export function isThere(state: DependencyState): boolean {
  return state === 'up' || state === 'recovering'
}

function rank(state: DependencyState): number {
  return state === 'up' ? 2 : state === 'recovering' ? 1 : 0
}
