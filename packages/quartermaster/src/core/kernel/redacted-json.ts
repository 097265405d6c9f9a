import type { Redact } from './secret-texts.ts'

const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/**
 * The value of a text in JSON, with nothing of what must not be seen in it. What is masked are keys and values and not the text:
 * JSON has many spellings for one text, and a number that is masked in its place would leave no JSON. Throws what
 * `JSON.parse` throws.
 */
export function redactedJson(text: string, redact: Redact): unknown {
  // Looked at first: in what is no JSON, looking for tokens may take as long as somebody wants.
  const value: unknown = JSON.parse(text)
  // Numbers are masked as they are written: a long one is another when it was read.
  const quoted = text.replace(STRING_OR_NUMBER, token =>
    token.startsWith('"') || redact(token) === token ? token : JSON.stringify(redact(token)),
  )
  return redactedValue(quoted === text ? value : JSON.parse(quoted), redact)
}

function redactedValue(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map(item => redactedValue(item, redact))
  if (typeof value !== 'object' || value === null) return value
  return redactedObject(Object.entries(value), redact)
}

/** Keys that are alike once they are masked are counted, so that none takes the place of another. */
function redactedObject(members: readonly (readonly [string, unknown])[], redact: Redact): unknown {
  const redacted = new Map<string, unknown>()
  const counts = new Map<string, number>()
  for (const [key, item] of members) {
    const masked = redact(key)
    let name = masked
    for (let count = counts.get(masked) ?? 2; redacted.has(name); count++) {
      name = `${masked} ${count}`
      counts.set(masked, count + 1)
    }
    redacted.set(name, redactedValue(item, redact))
  }
  return Object.fromEntries(redacted)
}
