import type { Keep } from './secret-store.ts'
import { isSecretText } from './secret-text.ts'

/** `${NAME:-text}`, and the other ways in which shells write that; behind a second dollar sign it is a shell's. From the innermost on. */
const FALLBACK = /\$?\$\{(?:env:)?(\w+):?[-=+]((?:\$?\$\{(?:env:)?\w+\}|(?!\$\{)[^}]){0,1000})\}/g

/** A value with the fallbacks of its references in their place, however deep these stand; those that their variable's name gives away are kept. */
export function withFallbacks(value: unknown, keepAs: (name: string) => Keep): unknown {
  if (typeof value === 'string') return inText(value, keepAs)
  if (Array.isArray(value)) return value.map(item => withFallbacks(item, keepAs))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withFallbacks(item, keepAs)]))
}

function inText(text: string, keepAs: (name: string) => Keep): string {
  let [before, after] = ['', text]
  while (after !== before) {
    before = after
    after = before.replace(FALLBACK, (_all, name: string, fallback: string) =>
      isOfShell(fallback) || !isSecretText(name, fallback) ? fallback : keepAs(name)(fallback),
    )
  }
  return after
}

/** What a variable or a command gives is none of ours to keep. */
function isOfShell(fallback: string): boolean {
  return /^[$`]/.test(fallback)
}
