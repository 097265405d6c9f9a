import type { Redact } from './secret-texts.ts'

const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/**
 * The value of a text in JSON, with nothing of what must not be seen in it. What is masked are the values and not the text:
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
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [redact(key), redactedValue(item, redact)]))
}
