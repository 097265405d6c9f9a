import { AppError } from '../../contracts/index.ts'

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** JSON with sorted keys, so that equal values have equal texts and digests. Leaves out what `JSON.stringify` leaves out. */
export function canonicalJson(value: unknown): string {
  return write(value) ?? 'null'
}

/** By hand: `JSON.stringify` with a replacer takes eight times as long, and every call is digested. */
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

/** Most texts are short and need no escape; for them this is faster than `JSON.stringify`. */
function quote(text: string): string {
  if (text.length > MOST_LOOKED_AT) return JSON.stringify(text)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code === 0x22 || code === 0x5c || code >= 0xd800) return JSON.stringify(text)
  }
  return `"${text}"`
}

const MOST_LOOKED_AT = 64

/** Checking is cheaper than sorting, and most arguments are in order. */
function sortedKeys(value: object): string[] {
  const keys = Object.keys(value)
  for (let i = 1; i < keys.length; i++) if ((keys[i - 1] as string) > (keys[i] as string)) return keys.sort()
  return keys
}

export interface JsonLimits {
  /** Real inputs stay under ten; recursive code must not run out of stack. */
  readonly maxJsonDepth: number
  /** Each value costs many times its bytes once it is parsed. */
  readonly maxJsonValues: number
}

/** Parses untrusted JSON. The structure is counted first: four megabytes of opening brackets would otherwise become hundreds. */
export function parseBoundedJson(text: string, limits: JsonLimits): unknown {
  const excess = jsonExcess(text, limits)
  if (excess) {
    const message = `The request body ${excess.what}. Send less at once.`
    throw new AppError('LIMIT_EXCEEDED', message, { details: { limit: excess.limit } })
  }
  const value = parseJson(text)
  // Only such a text can have the key; an escape may spell it.
  if (text.includes('__proto__') || text.includes('\\u')) refusePrototypeKeys(value)
  return value
}

/** The limit that a JSON text exceeds, if any, and `what` exceeds it: `nests deeper than 64 levels`. Nothing is parsed. */
export function jsonExcess(
  text: string,
  { maxJsonDepth, maxJsonValues }: JsonLimits,
): { readonly what: string; readonly limit: number } | undefined {
  let depth = 0
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      values++
      if (++depth > maxJsonDepth) return { what: `nests deeper than ${maxJsonDepth} levels`, limit: maxJsonDepth }
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--
    else if (code === COMMA) values++
    if (values > maxJsonValues) return { what: `has more than ${maxJsonValues} values`, limit: maxJsonValues }
  }
  return undefined
}

/** The closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH) at++
    else if (code === QUOTE) return at
  }
  return text.length
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message quotes the text, which may hold a secret.
    throw new AppError('INPUT_INVALID', 'The request body is not JSON.')
  }
}

/** Copying such a key by assignment would replace the prototype of the copy. */
function refusePrototypeKeys(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value)) {
    if (key === '__proto__') {
      throw new AppError('INPUT_INVALID', 'The request body has a key named "__proto__". Rename it.')
    }
    refusePrototypeKeys(child)
  }
}

/** A sentence for an error code of jsonc-parser. */
export function jsonFault(code: string): string {
  return FAULTS[code] ?? 'This is not JSON.'
}

const FAULTS: Readonly<Record<string, string>> = {
  InvalidSymbol: 'This is not a value: texts need double quotes.',
  InvalidNumberFormat: 'This number is not written as JSON writes numbers.',
  PropertyNameExpected: 'A name in double quotes is expected here.',
  ValueExpected: 'A value is expected here.',
  ColonExpected: 'A ":" is expected here.',
  CommaExpected: 'A "," is missing before this.',
  CloseBraceExpected: 'A "}" is missing.',
  CloseBracketExpected: 'A "]" is missing.',
  EndOfFileExpected: 'The text should end before this.',
  UnexpectedEndOfComment: 'This comment is never closed.',
  UnexpectedEndOfString: 'This text is never closed.',
  UnexpectedEndOfNumber: 'This number ends too early.',
  InvalidUnicode: 'This text has a "\\u" without four hexadecimal digits.',
  InvalidEscapeCharacter: 'This text has a "\\" before a character that takes none.',
  InvalidCharacter: 'This text has a control character; write it with "\\".',
}

// Character codes of JSON's punctuation.
export const QUOTE = 34
export const COMMA = 44
export const OPEN_BRACKET = 91
export const BACKSLASH = 92
export const CLOSE_BRACKET = 93
export const OPEN_BRACE = 123
export const CLOSE_BRACE = 125

/** The input of a call as an object: nothing becomes an empty object, and anything but an object is refused. */
export function inputObject(tool: string, input: unknown): Record<string, unknown> {
  const given = input ?? {}
  if (typeof given === 'object' && !Array.isArray(given)) return given as Record<string, unknown>
  const message = `must be an object, not ${Array.isArray(given) ? 'an array' : `a ${typeof given}`}.`
  throw new AppError('INPUT_INVALID', `The arguments of "${tool}" ${message}`, {
    details: { issues: [{ path: [], message }] },
  })
}

/** Deeper than any transport carries. Deeper values stay as they are, so that this does not run out of stack. */
const MAX_DEPTH = 100

/**
 * The input as a transport would carry it, without `undefined` fields, so that a tool accepts in-process what it accepts from
 * elsewhere. The same object where it has no such field.
 */
export function withoutUndefined(value: unknown): unknown {
  return cleared(value, { known: new Map(), depth: 0 })
}

interface Place {
  /** Results by object. An object in progress maps to itself: cycles are refused elsewhere. */
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

/** The cleared items, or nothing where none changed. */
function replaced(items: readonly unknown[], place: Place): unknown[] | undefined {
  const next = items.map(item => cleared(item, place))
  return next.some((item, at) => item !== items[at]) ? next : undefined
}
