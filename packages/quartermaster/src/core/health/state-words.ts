import type { DependencyState, MissingDependency } from '../../contracts/index.ts'

/** A state as sentences say it. */
export function stateInWords(state: DependencyState): string {
  return state === 'optedOut' ? 'switched off' : state
}

/** Why a tool is disabled, in a sentence for each thing it lacks. */
export function missingInWords(missing: readonly MissingDependency[]): string {
  return missing.map(one => `${one.dependency} is ${stateInWords(one.state)}: ${one.reason}`).join(' ')
}
