import type { Problem } from '../../contracts/index.ts'
import type { CheckedUnit } from './check-unit.ts'
import { composeGeneration } from './compose.ts'
import type { Declare } from './compose-declarations.ts'
import type { Generation } from './generation.ts'
import { withLastGood } from './loader.ts'
import { isAbout } from './problem-list.ts'

export interface Composition {
  readonly generation: Generation
  readonly problems: readonly Problem[]
  /** The units it was made of. */
  readonly units: readonly CheckedUnit[]
}

export interface CompositionParts {
  readonly number: number
  /** Some source is still loading. */
  readonly isPartial: boolean
  readonly units: readonly CheckedUnit[]
  /** Units of the host program; they come with every generation. */
  readonly registered: readonly CheckedUnit[]
  /** What the present generation is made of, and what is wrong with it. */
  readonly used: readonly CheckedUnit[]
  readonly faults: readonly Problem[]
  readonly declare: Declare
}

/**
 * Composes; a changed file that is right in itself but does not fit with the others (it needs what nothing defines, or
 * takes a name) keeps the version that did fit. Not so what an upstream has: an old version of it would offer what its
 * server no longer does.
 */
export function composeBest(parts: CompositionParts): Composition {
  const { number, isPartial, units, registered, used, faults, declare } = parts
  const compose = (chosen: readonly CheckedUnit[]) =>
    composeGeneration({ number, isPartial }, [...chosen, ...registered], declare)
  const first = compose(units)
  const before = new Map(used.filter(unit => !isFaulty(unit, faults)).map(unit => [keyOf(unit), unit]))
  const instead = (unit: CheckedUnit) =>
    !used.includes(unit) && unit.kind !== 'upstream' && isFaulty(unit, first.problems)
      ? before.get(keyOf(unit))
      : undefined
  const spoiled = units.filter(unit => instead(unit) !== undefined)
  if (spoiled.length === 0) return { ...first, units }
  const chosen = units.map(unit => instead(unit) ?? unit)
  const second = compose(chosen)
  const kept = first.problems.filter(problem => spoiled.some(({ unit }) => isAbout(problem, unit))).map(withLastGood)
  return { generation: second.generation, problems: [...second.problems, ...kept], units: chosen }
}

function isFaulty({ unit }: CheckedUnit, problems: readonly Problem[]): boolean {
  return problems.some(problem => problem.severity === 'error' && isAbout(problem, unit))
}

function keyOf({ source, unit }: CheckedUnit): string {
  return `${source}\n${unit}`
}
