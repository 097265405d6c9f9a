import { RE2JS } from 're2js'
import type { Steps } from './steps.ts'

/** A regular expression that matches in linear time. */
interface LinearPattern {
  test(text: string): boolean
  /** Whether the native engine matches it: a few milliseconds for a megabyte instead of a third of a second. */
  readonly isQuick: boolean
  readonly stepsPerCharacter: number
  /** Ajv identifies patterns by this text, so it must be unique. */
  toString(): string
}

/** Compiles a pattern for linear time; `undefined` where that is impossible (lookarounds, backreferences). */
export function linearPattern(source: string): LinearPattern | undefined {
  const tried = isNative(source, 'u') ? triedAgain(source) : undefined
  if (tried !== undefined) {
    const engine = new RegExp(source, 'u')
    return patternOf(source, { engine, isQuick: true, stepsPerCharacter: (1 + tried) / 8 })
  }
  const engine = compile(source)
  // Each instruction may look at each character.
  return engine && patternOf(source, { engine, isQuick: false, stepsPerCharacter: 4 + engine.programSize() / 4 })
}

interface Matching extends Pick<LinearPattern, 'isQuick' | 'stepsPerCharacter'> {
  readonly engine: { test(text: string): boolean }
}

function patternOf(source: string, { engine, isQuick, stepsPerCharacter }: Matching): LinearPattern {
  return { isQuick, stepsPerCharacter, test: text => engine.test(text), toString: () => `/${source}/u` }
}

/**
 * How many characters the native engine may revisit per character, or `undefined` unless it is certainly linear. It backtracks over
 * parts of variable length, so a pattern may have only one such part with a short rest behind it, and without `^` only short parts
 * of fixed length.
 */
function triedAgain(source: string): number | undefined {
  if (!SIMPLE.test(source)) return undefined
  const lengths = [...source.matchAll(PART)].map(([, repeated = '']) => repeated)
  const isVarying = (repeated: string) => repeated !== '' && !/^\{\d+\}$/.test(repeated)
  const varying = lengths.findIndex(isVarying)
  const isAnchored = source.startsWith('^')
  if (isAnchored && varying < 0) return 0
  const again = isAnchored ? lengths.slice(varying + 1) : lengths
  return again.some(isVarying) || lengthOf(again) > MOST_TRIED ? undefined : lengthOf(again)
}

const MOST_TRIED = 8

/** A single character: literal, escape or class; and its repetition. */
const ONE = String.raw`(?:[^\\^$.*+?()[\]{}|]|\.|\\[dDsSwW^$.*+?()[\]{}|/\-]|\[(?:[^\\\]]|\\.)+\])`
const REPEATED = String.raw`(?:[*+?]|\{\d{1,4}(?:,\d{0,4})?\})?`
const SIMPLE = new RegExp(`^\\^?(?:${ONE}${REPEATED})*\\$?$`, 'u')
const PART = new RegExp(`${ONE}(${REPEATED})`, 'gu')

function lengthOf(repeated: readonly string[]): number {
  return repeated.reduce((sum, times) => sum + Number(times.slice(1, -1) || 1), 0)
}

/** Whether any engine here understands the pattern. */
export function isPattern(source: string): boolean {
  return isNative(source, 'u') || isNative(source, '') || compile(source) !== undefined
}

function compile(source: string): RE2JS | undefined {
  try {
    // Patterns that JavaScript rejects may be valid in RE2 or Python: `(?i)` is common in upstream schemas.
    return RE2JS.compile(isNative(source, 'u') ? translate(source) : source)
  } catch {
    // RE2 rejects what it cannot match in linear time. The tool itself then validates such a text.
    return undefined
  }
}

function isNative(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags) instanceof RegExp
  } catch {
    // A syntax error means no.
    return false
  }
}

function translate(source: string): string {
  // The translation reads `\k<name>` as the letter k, which is a different pattern.
  if (/(?<!\\)(?:\\\\)*\\k</.test(source)) throw new SyntaxError('backreference')
  return widenSpaces(RE2JS.translateRegExp(source))
}

/** ECMAScript's white space. RE2's is ASCII only, so a no-break space would fail `^\s*$`. */
const SPACES = '\\s\\v\\p{Z}\\x{feff}'

function widenSpaces(source: string): string {
  let inClass = false
  return source.replace(/\\[^]|[[\]]/g, token => {
    if (token === '[' || token === ']') inClass = token === '['
    if (token === '\\s') return inClass ? SPACES : `[${SPACES}]`
    return token === '\\S' && !inClass ? `[^${SPACES}]` : token
  })
}

/** The patterns of a compiled schema, limited to a length of text per validation. */
export interface MatchedPatterns {
  pattern(source: string): MatchedPattern
  /** Starts a validation. A text beyond `MOST_MATCHED` ends it, or matches every pattern with `skipsLongTexts`. */
  begin(skipsLongTexts: boolean): void
  hasSkipped(): boolean
}

type MatchedPattern = Pick<LinearPattern, 'test' | 'toString'>

/** Characters matched per validation; a megabyte takes a third of a second. */
const MOST_MATCHED = 256 * 1024

export function createMatchedPatterns(steps: Steps): MatchedPatterns {
  let left = 0
  let maySkip = false
  let skipped = false
  return {
    pattern(source) {
      // A pattern without linear time matches everything; the plain schema was built for that.
      const linear = linearPattern(source) ?? ANYTHING
      const test = (text: string) => {
        if (!linear.isQuick && text.length > left) {
          if (!maySkip) steps.refuse()
          skipped = true
          return true
        }
        if (!linear.isQuick) left -= text.length
        steps.spend(Math.ceil(linear.stepsPerCharacter * text.length))
        return linear.test(text)
      }
      return { test, toString: () => `/${source}/u` }
    },
    begin(skipsLongTexts) {
      maySkip = skipsLongTexts
      left = MOST_MATCHED
      skipped = false
    },
    hasSkipped: () => skipped,
  }
}

const ANYTHING = { test: () => true, isQuick: true, stepsPerCharacter: 0 }
