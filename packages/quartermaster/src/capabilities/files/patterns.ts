import { RE2JS, RE2JSException } from 're2js'
import { Refusal } from '../shared/walls/refusal.ts'

/** Whether a path, relative to the start of the walk, matches. */
export type Glob = (path: string) => boolean

/**
 * Compiles a glob: `*`, `?`, `**`, `[a-z]`, `[!a-z]`, `{a,b}`. Without a "/" it matches names at any depth, with one
 * whole paths. Any pattern runs in linear time.
 */
export function createGlob(pattern: string): Glob {
  const expression = RE2JS.compile(translate(pattern.replace(/^\.?\//, '')), RE2JS.DOTALL)
  if (pattern.includes('/')) return path => expression.matches(path)
  return path => expression.matches(path.slice(path.lastIndexOf('/') + 1))
}

// The longest first: "**/" may also match nothing, so that "**/a" finds "a".
const TOKEN = /\*\*\/|\*\*|\*|\?|\[(?:\]|[!^]\]?)?[^\]]*\]|\{[^{}]*\}|[^]/g

function translate(pattern: string): string {
  return pattern.replace(TOKEN, translateToken)
}

function translateToken(token: string): string {
  if (token === '**/') return '(?:.*/)?'
  if (token === '**') return '.*'
  if (token === '*') return '[^/]*'
  if (token === '?') return '[^/]'
  if (token.length > 1 && token.startsWith('[')) return translateClass(token.slice(1, -1))
  if (token.length > 1 && token.startsWith('{')) return `(?:${token.slice(1, -1).split(',').map(translate).join('|')})`
  return RE2JS.quote(token)
}

function translateClass(inside: string): string {
  const negated = /^[!^]/.test(inside)
  const members = (negated ? inside.slice(1) : inside).replace(/[\\[\]^&~]/g, '\\$&')
  return negated ? `[^/${members}]` : `[${members}]`
}

export interface Span {
  readonly start: number
  readonly end: number
}

/** Finds the first match in a line. */
export interface Matcher {
  /** A quick check of a whole text: `false` means that no line of it can match. */
  mayMatch(text: string): boolean
  find(line: string): Span | undefined
}

/** Makes a matcher; throws a `Refusal` for an invalid or too large expression. */
export function createMatcher(query: string, options: { regex: boolean; caseSensitive: boolean }): Matcher {
  const { regex, caseSensitive } = options
  return regex ? expressionMatcher(query, caseSensitive) : literalMatcher(query, caseSensitive)
}

// Steps per character grow with the size of the program; this bounds the time for one line.
const MOST_INSTRUCTIONS = 1_000

function literalMatcher(query: string, caseSensitive: boolean): Matcher {
  // Only literal characters, so the engine cannot backtrack.
  const expression = new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), caseSensitive ? 'u' : 'iu')
  return {
    mayMatch: text => expression.test(text),
    find(line) {
      const match = expression.exec(line)
      return match ? { start: match.index, end: match.index + match[0].length } : undefined
    },
  }
}

/** RE2 runs any expression in linear time. */
function expressionMatcher(query: string, caseSensitive: boolean): Matcher {
  const expression = compile(query, caseSensitive)
  return {
    mayMatch: () => true,
    find(line) {
      // `test` costs a fraction of `find`, and most lines have no match.
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
