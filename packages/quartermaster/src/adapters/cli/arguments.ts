import { type JsonSchema, messageOf } from '../../contracts/index.ts'
import { schemasAt, typeOf, typesAt } from '../../core/kernel/index.ts'
import { UsageError } from './errors.ts'

type Pair = readonly [key: string, text: string]

/** How the arguments of a call were written. */
export type WrittenArguments =
  | { kind: 'stdin' }
  | { kind: 'json'; text: string }
  | { kind: 'pairs'; pairs: readonly Pair[] }

/** Arguments are one JSON object, `key=value` pairs, or `-` for standard input. */
export function readArguments(words: readonly string[]): WrittenArguments {
  const [first] = words
  if (words.length === 1 && first === '-') return { kind: 'stdin' }
  if (words.length === 1 && first !== undefined && /^\s*[{[]/.test(first)) return { kind: 'json', text: first }
  return { kind: 'pairs', pairs: words.map(toPair) }
}

/** The object that a JSON text holds. */
export function parseObject(text: string, from: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${from} is not valid JSON: ${messageOf(error)}`)
  }
  const type = typeOf(value)
  if (type === 'object') return value as Record<string, unknown>
  const article = /^[aeiou]/.test(type) ? 'an ' : 'a '
  throw new UsageError(
    `${from} must be one JSON object such as '{"path":"notes.txt"}', not ${type === 'null' ? '' : article}${type}.`,
  )
}

/**
 * The object that `key=value` pairs make, `a.b=1` nested. A value is read as JSON where it parses and the schema does not want
 * a string there; anything else is a string.
 */
export function buildObject(pairs: readonly Pair[], schema: JsonSchema): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [key, text] of pairs) {
    const path = toPath(key, schema)
    const schemas = path.reduce<readonly JsonSchema[]>((outer, step) => schemasAt(schema, outer, step), [schema])
    put(result, path, toValue(text, typesAt(schema, schemas)), key)
  }
  return result
}

/** One `key=value` word. */
export function toPair(word: string): Pair {
  const at = word.indexOf('=')
  if (at > 0) return [word.slice(0, at), word.slice(at + 1)]
  throw new UsageError(
    `"${word}" is neither key=value nor one JSON object. Write path=notes.txt, or '{"path":"notes.txt"}', or - to read JSON from standard input.`,
  )
}

/** A key with dots is a path, unless a property has that very name. */
function toPath(key: string, schema: JsonSchema): string[] {
  const path = schemasAt(schema, [{ ...schema, additionalProperties: false }], key).length > 0 ? [key] : key.split('.')
  // These would change the prototype of every object.
  if (path.some(step => ['__proto__', 'constructor', 'prototype'].includes(step)))
    throw new UsageError(`"${key}" is no name an argument can have.`)
  if (path.includes('')) throw new UsageError(`"${key}" has an empty part. Write a.b=1 for a value inside another.`)
  return path
}

/** A written value: JSON unless a string is wanted. Where a string or another type can stand, the other type goes first. */
export function toValue(text: string, types: ReadonlySet<string> | undefined): unknown {
  const parsed = tryJson(text)
  if (!parsed) return text
  if (types === undefined || !types.has('string')) return parsed.value
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
