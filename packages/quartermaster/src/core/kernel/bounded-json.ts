import { AppError } from '../../contracts/index.ts'
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './json-signs.ts'

/** How large the structure of a foreign JSON text may be, whatever its size in bytes. */
export interface JsonLimits {
  /** How deep it may nest; real inputs stay under ten, and recursive code behind us must not run out of stack. */
  readonly maxJsonDepth: number
  /** How many values it may have: each costs many times its bytes once it is parsed. */
  readonly maxJsonValues: number
}

/**
 * Parses JSON that a stranger sent. The structure is counted before anything is built from it: four megabytes of
 * opening brackets would otherwise become hundreds.
 */
export function parseBoundedJson(text: string, limits: JsonLimits): unknown {
  refuseLargeStructure(text, limits)
  const value = parseJson(text)
  // Only such a text can hold the key; a backslash may spell it.
  if (text.includes('__proto__') || text.includes('\\u')) refusePrototypeKeys(value)
  return value
}

function refuseLargeStructure(text: string, limits: JsonLimits): void {
  const excess = jsonExcess(text, limits)
  if (excess) throw tooLarge(excess)
}

/** What is beyond the limits. */
export interface JsonExcess {
  /** `nests deeper than 64 levels`. */
  readonly what: string
  readonly limit: number
}

/** What of a JSON text is beyond the limits, if anything is. Nothing is built from it. */
export function jsonExcess(text: string, { maxJsonDepth, maxJsonValues }: JsonLimits): JsonExcess | undefined {
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

/** Where the string that begins here ends; past the text where it does not, which the parser will say. */
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

function tooLarge({ what, limit }: JsonExcess): AppError {
  return new AppError('LIMIT_EXCEEDED', `The request body ${what}. Send less at once.`, { details: { limit } })
}
