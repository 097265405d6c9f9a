import type { Knowledge } from '../catalogue/index.ts'
import { markdownLines } from './markdown.ts'

/** How much one unit may take in of others: a few short files must not make an endless one. */
export const INCLUDE_LIMITS = { depth: 8, count: 200, characters: 262_144 } as const

/** What of a unit is needed to take others into it. */
export type Includable = Pick<Knowledge, 'path' | 'body'>

/** An include that could not be done. */
export interface IncludeFault {
  /** The unit it stands in. */
  readonly unit: string
  /** The line of its body. */
  readonly line: number
  readonly message: string
}

const INCLUDE = /^[ \t]*\{\{[ \t]*include:[ \t]*(.*?)[ \t]*\}\}[ \t]*$/

/** The paths that a text includes, each on a line `{{include: guides/deploy}}` of its own. */
export function includesIn(body: string): { readonly path: string; readonly line: number }[] {
  return markdownLines(body).flatMap(({ text, number, isCode }) => {
    const path = isCode ? undefined : INCLUDE.exec(text)?.[1]
    return path === undefined ? [] : [{ path, line: number }]
  })
}

/**
 * A unit's text with what it includes in its place. What cannot be included is told where it would stand, for whoever reads
 * it, and among the faults, for whoever wrote it.
 */
export function withIncludes(
  unit: Includable,
  find: (path: string) => Includable | undefined,
): { readonly text: string; readonly faults: readonly IncludeFault[] } {
  const faults: IncludeFault[] = []
  const budget = { count: INCLUDE_LIMITS.count, characters: INCLUDE_LIMITS.characters - unit.body.length }

  function expand({ path: within, body }: Includable, trail: readonly string[]): string {
    if (!body.includes('{{')) return body
    const lines = markdownLines(body).map(({ text, number, isCode }) => {
      const path = isCode ? undefined : INCLUDE.exec(text)?.[1]
      if (path === undefined) return text
      const found = find(path)
      const message = obstacle(path, found, trail)
      if (message === undefined && found) {
        budget.count--
        budget.characters -= found.body.length
        return expand(found, [...trail, found.path])
      }
      faults.push({ unit: within, line: number, message: message ?? '' })
      return `[Not included: ${message}]`
    })
    return lines.join('\n')
  }

  function obstacle(path: string, found: Includable | undefined, trail: readonly string[]): string | undefined {
    if (!found) return `there is no unit "${path}".`
    if (trail.includes(found.path)) return `"${path}" includes itself: ${[...trail, found.path].join(' → ')}.`
    if (trail.length > INCLUDE_LIMITS.depth) return `"${path}" is more than ${INCLUDE_LIMITS.depth} includes deep.`
    if (budget.count <= 0) return `"${path}" is one of more than ${INCLUDE_LIMITS.count} includes.`
    if (found.body.length > budget.characters)
      return `with "${path}" it would be longer than ${INCLUDE_LIMITS.characters} characters.`
    return undefined
  }

  return { text: expand(unit, [unit.path]), faults }
}
