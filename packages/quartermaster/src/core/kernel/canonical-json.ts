/**
 * JSON with sorted keys, so that equal values have equal texts and equal digests.
 * What JSON cannot say (undefined, functions) is left out as `JSON.stringify` does.
 */
export function canonicalJson(value: unknown): string {
  return write(value) ?? 'null'
}

/** Written out by hand: `JSON.stringify` with a replacer takes four times as long, and every call is digested. */
function write(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(item => write(item) ?? 'null').join(',')}]`
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return write(JSON.parse(JSON.stringify(value)))
  let text = ''
  for (const key of sortedKeys(value)) {
    const item = write((value as Record<string, unknown>)[key])
    if (item !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${item}`
  }
  return `{${text}}`
}

/** Most arguments come in their order, or there is but one: to look is cheaper than to sort. */
function sortedKeys(value: object): string[] {
  const keys = Object.keys(value)
  return keys.every((key, i) => i === 0 || (keys[i - 1] as string) < key) ? keys : keys.sort()
}
