import { type JsonSchema, messageOf } from '../../contracts/index.ts'
import { schemasAt, typeOf, typesAt } from '../../core/kernel/index.ts'
import { UsageError } from './errors.ts'

/** How the arguments of a call were written. */
export type WrittenArguments =
  | { kind: 'stdin' }
  | { kind: 'json'; text: string }
  | { kind: 'pairs'; pairs: readonly (readonly [key: string, text: string])[] }

/** Tells the three ways apart: one JSON object, `key=value` pairs, or `-` for standard input. */
export function readArguments(words: readonly string[]): WrittenArguments {
  const [first] = words
  if (words.length === 1 && first === '-') return { kind: 'stdin' }
  if (words.length === 1 && first !== undefined && /^\s*[{[]/.test(first)) return { kind: 'json', text: first }
  return { kind: 'pairs', pairs: words.map(toPair) }
}

/** The object a JSON text holds. */
export function parseObject(text: string, from: string): Record<string, unknown> {
  const value = parseJson(text, from)
  if (typeOf(value) !== 'object')
    throw new UsageError(
      `${from} must be one JSON object such as '{"path":"notes.txt"}', not ${article(typeOf(value))}.`,
    )
  return value as Record<string, unknown>
}

/**
 * The object that `key=value` pairs make, `a.b=1` nested. A value is read as JSON where it parses and the schema does not
 * want a text there; anything else is the text as it stands.
 */
export function buildObject(
  pairs: readonly (readonly [string, string])[],
  schema: JsonSchema,
): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [key, text] of pairs) {
    const path = toPath(key, schema)
    const place = path.reduce<readonly JsonSchema[]>((schemas, step) => schemasAt(schema, schemas, step), [schema])
    put(result, path, toValue(text, typesAt(schema, place)), key)
  }
  return result
}

/** One `key=value` word. */
export function toPair(word: string): readonly [string, string] {
  const at = word.indexOf('=')
  if (at > 0) return [word.slice(0, at), word.slice(at + 1)]
  throw new UsageError(
    `"${word}" is neither key=value nor one JSON object. Write path=notes.txt, or '{"path":"notes.txt"}', or - to read JSON from standard input.`,
  )
}

function parseJson(text: string, from: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${from} is not valid JSON: ${messageOf(error)}`)
  }
}

function article(type: string): string {
  if (type === 'null') return 'null'
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}

/** A key with dots may also be a property's own name. */
function toPath(key: string, schema: JsonSchema): string[] {
  const path = schemasAt(schema, [{ ...schema, additionalProperties: false }], key).length > 0 ? [key] : key.split('.')
  // These would change what every object is, not what this one says.
  if (path.some(step => ['__proto__', 'constructor', 'prototype'].includes(step)))
    throw new UsageError(`"${key}" is no name an argument can have.`)
  if (path.includes('')) throw new UsageError(`"${key}" has an empty part. Write a.b=1 for a value inside another.`)
  return path
}

/** A value as it was written: JSON where a place does not want a text, and the text as it stands otherwise. */
export function toValue(text: string, types: ReadonlySet<string> | undefined): unknown {
  const parsed = tryJson(text)
  if (!parsed) return text
  if (types === undefined || !types.has('string')) return parsed.value
  // A place that takes a text or something else gets the something else where that is what was written.
  const type = typeOf(parsed.value)
  return type !== 'string' && types.has(type) ? parsed.value : text
}

export function tryJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    // Not JSON, so it is the text itself.
    return undefined
  }
}

function put(target: Record<string, unknown>, path: readonly string[], value: unknown, key: string): void {
  const [step, ...rest] = path
  if (step === undefined) return
  const present = target[step]
  if (rest.length === 0) {
    if (present !== undefined) throw new UsageError(`"${key}" is given twice. Write a list as ${key}='["a","b"]'.`)
    target[step] = value
    return
  }
  if (present !== undefined && typeOf(present) !== 'object')
    throw new UsageError(`"${key}" goes into "${step}", which already has a value.`)
  const inner = (present ?? {}) as Record<string, unknown>
  target[step] = inner
  put(inner, rest, value, key)
}
