/**
 * What of an input a wire would carry: a field that is `undefined` is not there. Programs write optional fields like that, and a
 * tool is not to refuse in one process what it takes from another. The same value where there is no such field.
 */
export function withoutUndefined(value: unknown): unknown {
  return cleared(value, new Set())
}

function cleared(value: unknown, seen: Set<object>): unknown {
  // A cycle is for others to refuse.
  if (typeof value !== 'object' || value === null || seen.has(value)) return value
  seen.add(value)
  if (Array.isArray(value)) return replaced(value, seen) ?? value
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  const changed = replaced(Object.values(value), seen)
  const hasUndefined = Object.values(value).includes(undefined)
  if (!changed && !hasUndefined) return value
  const values = changed ?? Object.values(value)
  const entries = Object.keys(value).map((key, at) => [key, values[at]] as const)
  return Object.fromEntries(entries.filter(([, one]) => one !== undefined))
}

/** The same list with its items cleared, or nothing where none of them has to be. */
function replaced(items: readonly unknown[], seen: Set<object>): unknown[] | undefined {
  const next = items.map(item => cleared(item, seen))
  return next.some((item, at) => item !== items[at]) ? next : undefined
}
