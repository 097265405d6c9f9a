/** The step budget of one validation. Steps are counted rather than timed, so that equal values get equal answers. */
export interface Steps {
  /** Starts a validation. Without `most`, the budget is `FREE_STEPS` plus some for each character of the value. */
  begin(value: unknown, most?: number): void
  /** Spends steps at a keyword of the schema. Throws `TooManySteps` when the budget is exceeded. */
  at(place: string, count: number): void
  spend(count: number): void
  refuse(): never
  taken(): number
}

/** The budget for any value: a large schema costs something for a small value too. */
export const FREE_STEPS = 5_000_000

/** Enough for lists of objects with ten `oneOf` branches. */
export const STEPS_PER_CHARACTER = 4

/** The value exceeds the step budget. */
export class TooManySteps extends Error {
  constructor(place: string) {
    super(`The value takes too many steps to check, at ${place || 'the top'} of its schema; make it smaller.`)
  }
}

export function createSteps(): Steps {
  let allowed = 0
  let left = 0
  let checked: unknown
  let isMeasured = true
  let current = ''

  /** Measures the value only when needed: most values never exceed the free steps. */
  function makeRoom(count: number): void {
    if (!isMeasured) {
      isMeasured = true
      const more = STEPS_PER_CHARACTER * charactersOf(checked, MOST_CHARACTERS)
      allowed += more
      left += more
    }
    checked = undefined
    if (count > left) throw new TooManySteps(current)
  }
  return {
    begin(value, most) {
      isMeasured = most !== undefined
      checked = isMeasured ? undefined : value
      allowed = most ?? FREE_STEPS
      left = allowed
    },
    at(place, count) {
      current = place
      if (count > left) makeRoom(count)
      left -= count
    },
    spend(count) {
      if (count > left) makeRoom(count)
      left -= count
    },
    refuse() {
      throw new TooManySteps(current)
    },
    taken: () => allowed - left,
  }
}

/** No larger value arrives as JSON, but a host program may pass one that repeats a part many times. */
const MOST_CHARACTERS = 256 * 1024 * 1024

/** The approximate length of a value's JSON. */
function charactersOf(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 4
  let length = 2
  if (Array.isArray(value)) {
    for (const item of value) {
      length += 1 + charactersOf(item, most - length)
      if (length > most) break
    }
    return length
  }
  for (const key of Object.keys(value)) {
    length += key.length + 4 + charactersOf((value as Record<string, unknown>)[key], most - length)
    if (length > most) break
  }
  return length
}
