import { RE2JS, RE2JSException } from 're2js'
import { Refusal } from '../shared/walls/refusal.ts'

/** Whether a path, counted from where the walk began, is wanted. */
export type Glob = (way: string) => boolean

/**
 * Compiles a glob: `*`, `?`, `**`, `[a-z]`, `[!a-z]`, `{a,b}`. Without a "/" it is about names at any depth, with one
 * about whole paths. It runs in linear time, whatever it says.
 */
export function createGlob(pattern: string): Glob {
  const expression = RE2JS.compile(translate(pattern.replace(/^\.?\//, '')), RE2JS.DOTALL)
  if (pattern.includes('/')) return way => expression.matches(way)
  return way => expression.matches(way.slice(way.lastIndexOf('/') + 1))
}

// The longest first: "**/" may also stand for nothing, so that "**/a" finds "a".
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

interface MatcherOptions {
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
