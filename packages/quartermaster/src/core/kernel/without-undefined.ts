/** Deeper than a wire carries it. What stands below is left to the call path as it is: a program must not run out of stack here. */
const MAX_DEPTH = 100

/**
 * What of an input a wire would carry: a field that is `undefined` is not there. Programs write optional fields like that, and a
 * tool is not to refuse in one process what it takes from another. The same value where there is no such field.
 */
export function withoutUndefined(value: unknown): unknown {
  return cleared(value, { known: new Map(), depth: 0 })
}

interface Place {
  /** What was made of each object so far. One that is not done yet stands for itself: a cycle is for others to refuse. */
  readonly known: Map<object, unknown>
  readonly depth: number
}

function cleared(value: unknown, { known, depth }: Place): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
  if (known.has(value)) return known.get(value)
  known.set(value, value)
  const made = clearedObject(value, { known, depth: depth + 1 })
  known.set(value, made)
  return made
}

function clearedObject(value: object, place: Place): unknown {
  if (Array.isArray(value)) return replaced(value, place) ?? value
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const given = Object.values(value)
  const changed = replaced(given, place)
  if (!changed && !given.includes(undefined)) return value
  const values = changed ?? given
  const entries = Object.keys(value).map((key, at) => [key, values[at]] as const)
  return Object.fromEntries(entries.filter(([, one]) => one !== undefined))
}

/** The same list with its items cleared, or nothing where none of them has to be. */
function replaced(items: readonly unknown[], place: Place): unknown[] | undefined {
  const next = items.map(item => cleared(item, place))
  return next.some((item, at) => item !== items[at]) ? next : undefined
}
