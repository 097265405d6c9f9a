import type { DependencyState } from '../../contracts/index.ts'

/** A state as sentences say it. */
export function stateInWords(state: DependencyState): string {
  return state === 'optedOut' ? 'switched off' : state
}
