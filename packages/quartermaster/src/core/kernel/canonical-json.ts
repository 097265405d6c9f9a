/**
 * JSON with sorted keys, so that equal values have equal texts and equal digests.
 * What JSON cannot say (undefined, functions) is left out as `JSON.stringify` does.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, sortKeys) ?? 'null'
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const keys = Object.keys(value)
  if (isSorted(keys)) return value
  const source = value as Record<string, unknown>
  return Object.fromEntries(keys.sort().map(key => [key, source[key]]))
}

function isSorted(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) {
    if ((keys[i - 1] as string) > (keys[i] as string)) return false
  }
  return true
}
