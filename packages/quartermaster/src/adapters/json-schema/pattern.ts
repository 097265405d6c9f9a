import { RE2JS } from 're2js'
import type { Steps } from './paths.ts'

/** A regular expression that takes time in proportion to the text, whatever the pattern. */
interface LinearPattern {
  test(text: string): boolean
  /** Whether the language's own engine matches it: a megabyte takes a few milliseconds instead of a third of a second. */
  readonly isQuick: boolean
  /** What matching one character costs. */
  readonly stepsPerCharacter: number
  /** Ajv tells patterns apart by this text; were it the same for two, the first would stand in for the second. */
  toString(): string
}

/** The pattern for matching in linear time, or `undefined` where that cannot be had (lookarounds, backreferences). */
export function linearPattern(source: string): LinearPattern | undefined {
  const tried = isNative(source, 'u') ? triedAgain(source) : undefined
  if (tried !== undefined) {
    const engine = new RegExp(source, 'u')
    return patternOf(source, { engine, isQuick: true, stepsPerCharacter: (1 + tried) / 8 })
  }
  const engine = compile(source)
  // Each of its instructions may look at each character.
  return engine && patternOf(source, { engine, isQuick: false, stepsPerCharacter: 4 + engine.programSize() / 4 })
}

interface Matching extends Pick<LinearPattern, 'isQuick' | 'stepsPerCharacter'> {
  readonly engine: { test(text: string): boolean }
}

function patternOf(source: string, { engine, isQuick, stepsPerCharacter }: Matching): LinearPattern {
  return { isQuick, stepsPerCharacter, test: text => engine.test(text), toString: () => `/${source}/u` }
}

/**
 * How many characters the native engine may look at again for each one of the text, or `undefined` unless it is linear for sure. It
 * backtracks over each part of variable length, so only patterns with at most one such part and a short rest behind it qualify, and
 * without `^` only short ones of fixed length.
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

/** One character: itself, an escape or a class; and how often it stands there. */
const ONE = String.raw`(?:[^\\^$.*+?()[\]{}|]|\.|\\[dDsSwW^$.*+?()[\]{}|/\-]|\[(?:[^\\\]]|\\.)+\])`
const REPEATED = String.raw`(?:[*+?]|\{\d{1,4}(?:,\d{0,4})?\})?`
const SIMPLE = new RegExp(`^\\^?(?:${ONE}${REPEATED})*\\$?$`, 'u')
const PART = new RegExp(`${ONE}(${REPEATED})`, 'gu')

function lengthOf(repeated: readonly string[]): number {
  return repeated.reduce((sum, times) => sum + Number(times.slice(1, -1) || 1), 0)
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

/** The patterns of one compiled schema, which match up to a length of text in one check. */
export interface MatchedPatterns {
  pattern(source: string): MatchedPattern
  /**
   * Begins a check. A text longer than what is left of `MOST_MATCHED` ends the check, or with `skipsLongTexts` matches every
   * pattern.
   */
  begin(skipsLongTexts: boolean): void
  /** Whether a text was skipped. */
  hasSkipped(): boolean
}

type MatchedPattern = Pick<LinearPattern, 'test' | 'toString'>

/** As many characters as patterns are matched with in one check: that takes a third of a second for a megabyte. */
const MOST_MATCHED = 256 * 1024

export function createMatchedPatterns(steps: Steps): MatchedPatterns {
  let left = 0
  let maySkip = false
  let skipped = false
  return {
    pattern(source) {
      // Where linear time cannot be had the pattern matches everything; the schema was made plain with that in mind.
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
