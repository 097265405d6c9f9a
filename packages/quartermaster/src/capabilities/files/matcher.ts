import { RE2JS, RE2JSException } from 're2js'
import { Refusal } from '../shared/refusal.ts'

/** Where in a line something was found. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Finds the first match in a line. */
export interface Matcher {
  /** A quick look at a whole text: `false` means that no line of it can match. */
  mayMatch(text: string): boolean
  find(line: string): Span | undefined
}

export interface MatcherOptions {
  query: string
  regex: boolean
  caseSensitive: boolean
}

/** Makes a matcher; throws a `Refusal` for an expression that cannot be used. */
export function createMatcher({ query, regex, caseSensitive }: MatcherOptions): Matcher {
  return regex ? expressionMatcher(query, caseSensitive) : literalMatcher(query, caseSensitive)
}

// Steps per character grow with the size of the program; this keeps one look at a line within bounds.
const MOST_INSTRUCTIONS = 1_000

function literalMatcher(query: string, caseSensitive: boolean): Matcher {
  // Nothing but literal characters, so the engine cannot be led astray.
  const expression = new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), caseSensitive ? 'u' : 'iu')
  return {
    mayMatch: text => expression.test(text),
    find(line) {
      const match = expression.exec(line)
      return match ? { start: match.index, end: match.index + match[0].length } : undefined
    },
  }
}

/** RE2: linear in time, whatever the agent writes. */
function expressionMatcher(query: string, caseSensitive: boolean): Matcher {
  const expression = compile(query, caseSensitive)
  return {
    mayMatch: () => true,
    find(line) {
      // Whether there is a match costs a fraction of where it is, and most lines have none.
      if (!expression.test(line)) return undefined
      const found = expression.matcher(line)
      return found.find() ? { start: found.start(), end: found.end() } : undefined
    },
  }
}

function compile(query: string, caseSensitive: boolean): RE2JS {
  let expression: RE2JS
  try {
    expression = RE2JS.compile(query, caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE)
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    throw new Refusal(
      `"${query}" is no regular expression in RE2 syntax (no lookaround, no backreferences): ${error.message}`,
    )
  }
  if (expression.programSize() > MOST_INSTRUCTIONS)
    throw new Refusal(`"${query}" is too large an expression; make it simpler.`)
  return expression
}
