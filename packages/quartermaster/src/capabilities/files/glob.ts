import { RE2JS } from 're2js'

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
