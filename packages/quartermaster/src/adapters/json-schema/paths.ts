import type { ErrorObject } from 'ajv'

export type Path = (string | number)[]

/** Where an error is in the value: the way to it, and on to the property where one is missing or too many. */
export function pathOf(error: ErrorObject, value: unknown): Path {
  const path = decodePointer(error.instancePath, value)
  const property = PROPERTY_OF[error.keyword]?.(error.params)
  return property === undefined ? path : [...path, property]
}

const PROPERTY_OF: Readonly<Record<string, ((params: Record<string, string>) => string | undefined) | undefined>> = {
  required: params => params.missingProperty,
  dependentRequired: params => params.missingProperty,
  dependencies: params => params.missingProperty,
  additionalProperties: params => params.additionalProperty,
  unevaluatedProperties: params => params.unevaluatedProperty,
}

/** A JSON pointer as keys and indices. Only the value can say which of the two a digit is. */
function decodePointer(pointer: string, value: unknown): Path {
  let at = value
  return pointer
    .split('/')
    .slice(1)
    .map(token => {
      const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
      const step = Array.isArray(at) ? Number(key) : key
      at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined
      return step
    })
}

/** Step budget of one validation. Counted, not timed, so equal values always get equal answers. */
export interface Steps {
  /** Begins a validation: `most` steps, or when they are left out `FREE_STEPS` and some for each character of the value. */
  begin(value: unknown, most?: number): void
  /** Enters a keyword of the schema that takes `count` steps. Throws `TooManySteps` when the budget does not cover them. */
  at(place: string, count: number): void
  /** Takes more steps at the same keyword. */
  spend(count: number): void
  /** Ends the validation at the keyword. */
  refuse(): never
  /** How many have been taken since the validation began. */
  taken(): number
}

/** Steps allowed whatever the size of the value: a large schema costs something for a small value too. */
export const FREE_STEPS = 5_000_000

/** Enough for lists of objects with ten `oneOf` branches. */
export const STEPS_PER_CHARACTER = 4

/** A value takes more steps than it may. */
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

  /** Measures the value only now: most values never need more than the free steps. */
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

/** No larger value reaches us as JSON. One that a library hands over may hold the same part many times. */
const MOST_CHARACTERS = 256 * 1024 * 1024

/** About how long a value is as JSON. */
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
