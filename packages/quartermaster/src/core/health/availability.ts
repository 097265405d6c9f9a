import type { DependencyState } from '../../contracts/index.ts'
import type { DependencyRecord } from './record.ts'

/** What a dependency is worth now, its parents considered. */
export interface Effective {
  readonly state: DependencyState
  readonly reason: string
  readonly since: number
  /** The dependency that is really at fault: itself, or the parent it hangs on. */
  readonly root: string
}

export interface Graph {
  parentsOf(name: string): readonly string[]
  record(name: string): DependencyRecord
}

/** A child is worth no more than its parents, whatever it last said itself. */
export function effectiveState(name: string, graph: Graph): Effective {
  const record = graph.record(name)
  const own: Effective = { state: record.state, reason: record.reason, since: record.since, root: name }
  if (record.state === 'optedOut') return own
  let worst = own
  for (const parent of graph.parentsOf(name)) {
    const above = effectiveState(parent, graph)
    if (rank(above.state) < rank(worst.state) || (!isThere(above.state) && worst === own)) worst = above
  }
  if (worst === own) return own
  const state = worst.state === 'optedOut' ? 'down' : worst.state
  return { state, reason: `It needs "${worst.root}": ${worst.reason}`, since: worst.since, root: worst.root }
}

/** Up and recovering count as there: a client that has seen a tool vanish will not call it again. */
export function isThere(state: DependencyState): boolean {
  return state === 'up' || state === 'recovering'
}

function rank(state: DependencyState): number {
  return state === 'up' ? 2 : state === 'recovering' ? 1 : 0
}
