import { RE2JS } from 're2js'

/** A regular expression that takes time in proportion to the text, whatever the pattern. */
export interface LinearPattern {
  test(text: string): boolean
  /** Ajv tells patterns apart by this text; were it the same for two, the first would stand in for the second. */
  toString(): string
}

/** The pattern for matching in linear time, or `undefined` where that cannot be had (lookarounds, backreferences). */
export function linearPattern(source: string): LinearPattern | undefined {
  const compiled = compile(source)
  return compiled && { test: text => compiled.test(text), toString: () => `/${source}/u` }
}

/** Whether any engine at hand understands the pattern. */
export function isPattern(source: string): boolean {
  return isNative(source, 'u') || isNative(source, '') || compile(source) !== undefined
}

function compile(source: string): RE2JS | undefined {
  try {
    // What is not a pattern of ours may be one of RE2's or Python's: `(?i)` is common in upstreams' schemas.
    return RE2JS.compile(isNative(source, 'u') ? translate(source) : source)
  } catch {
    // RE2 refuses what it cannot match in linear time. The tool's own check is left to judge such a text.
    return undefined
  }
}

function isNative(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags) instanceof RegExp
  } catch {
    // Not a pattern of this language; that is the answer.
    return false
  }
}

function translate(source: string): string {
  // The translation reads `\k<name>` as the letter k, which would be another pattern altogether.
  if (/(?<!\\)(?:\\\\)*\\k</.test(source)) throw new SyntaxError('backreference')
  return widenSpaces(RE2JS.translateRegExp(source))
}

/** ECMAScript's white space, which for RE2 is ASCII only: a no-break space would fail `^\s*$` for no visible reason. */
const SPACES = '\\s\\v\\p{Z}\\x{feff}'

function widenSpaces(source: string): string {
  let inClass = false
  return source.replace(/\\[^]|[[\]]/g, token => {
    if (token === '[' || token === ']') inClass = token === '['
    if (token === '\\s') return inClass ? SPACES : `[${SPACES}]`
    return token === '\\S' && !inClass ? `[^${SPACES}]` : token
  })
}
