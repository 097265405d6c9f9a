/**
 * JSON with sorted keys, so that equal values have equal texts and equal digests.
 * What JSON cannot say (undefined, functions) is left out as `JSON.stringify` does.
 */
export function canonicalJson(value: unknown): string {
  return write(value) ?? 'null'
}

/** Written out by hand: `JSON.stringify` with a replacer takes eight times as long, and every call is digested. */
function write(value: unknown): string | undefined {
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(item => write(item) ?? 'null').join(',')}]`
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return write(JSON.parse(JSON.stringify(value)))
  let text = ''
  for (const key of sortedKeys(value)) {
    const item = write((value as Record<string, unknown>)[key])
    if (item !== undefined) text += `${text === '' ? '' : ','}${quote(key)}:${item}`
  }
  return `{${text}}`
}

/** Short texts without anything to escape, as most are, are done before `JSON.stringify` has begun. */
function quote(text: string): string {
  if (text.length > MOST_LOOKED_AT) return JSON.stringify(text)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code === 0x22 || code === 0x5c || code >= 0xd800) return JSON.stringify(text)
  }
  return `"${text}"`
}

const MOST_LOOKED_AT = 64

/** Most arguments come in their order, or there is but one: to look is cheaper than to sort. */
function sortedKeys(value: object): string[] {
  const keys = Object.keys(value)
  for (let i = 1; i < keys.length; i++) if ((keys[i - 1] as string) > (keys[i] as string)) return keys.sort()
  return keys
}
