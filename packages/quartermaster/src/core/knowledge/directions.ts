import type { Knowledge } from '../catalogue/index.ts'

/** Directions: a unit that is followed step by step, and called by a word. */
export interface Directions extends Knowledge {
  readonly kind: 'directions'
  readonly command: string
  readonly summary: string
  readonly whenToUse: string
}

export function isDirections(unit: Knowledge): unit is Directions {
  return unit.kind === 'directions'
}
