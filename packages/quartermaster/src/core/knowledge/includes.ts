import type { Knowledge } from '../catalogue/index.ts'
import { markdownLines } from './markdown.ts'
import { barePath } from './written-path.ts'

/**
 * How much one unit may take in of others: a few short files must not make an endless one. All of it together stays below
 * what an answer may have by default, so that directions with what they include can be read at once.
 */
export const INCLUDE_LIMITS = { depth: 8, count: 200, bytes: 196_608 } as const

/** What of a unit is needed to take others into it. */
export type Includable = Pick<Knowledge, 'path' | 'body'>

/** Finds what may be taken in. For whoever does not see a unit there is none. */
export type FindIncludable = (path: string) => Includable | undefined

/** An include that could not be done. */
export interface IncludeFault {
  /** The unit it stands in. */
  readonly unit: string
  /** The line of its body. */
  readonly line: number
  readonly message: string
}

// What is indented further is code.
const INCLUDE = /^ {0,3}\{\{[ \t]*include:([^{}]*)\}\}[ \t]*$/

interface Include {
  readonly path: string
  readonly line: number
}

/** The paths that a text includes, each on a line `{{include: guides/deploy}}` of its own. */
export function includesIn(body: string): readonly Include[] {
  if (!body.includes('{{')) return NONE
  return markdownLines(body).flatMap(({ text, number, isCode }) => {
    const path = isCode ? undefined : INCLUDE.exec(text)?.[1]
    return path === undefined ? [] : [{ path: barePath(path), line: number }]
  })
}

const NONE: readonly Include[] = []

/** The lines in which an include stands beside other words, where it means nothing. */
export function strayIncludes(body: string): number[] {
  if (!body.includes('{{')) return []
  return markdownLines(body).flatMap(({ text, number, isCode, prose }) => {
    if (isCode || /^(?: {4}|\t)/.test(text) || INCLUDE.test(text)) return []
    return /\{\{[ \t]*include:/.test(prose) ? [number] : []
  })
}

/** A unit and all that is taken into it, by path, as far as it is found. */
export function unitsIn<T extends Includable>(unit: T, find: (path: string) => T | undefined): ReadonlyMap<string, T> {
  const reached = new Map([[unit.path, unit]])
  // A map that grows while it is walked is walked to its end.
  for (const { body } of reached.values()) {
    for (const { path } of includesIn(body)) {
      const found = reached.has(path) ? undefined : find(path)
      if (found) reached.set(path, found)
    }
  }
  return reached
}

/**
 * A unit's text with what it includes in its place. What cannot be included is told where it would stand, for whoever reads
 * it, and among the faults, for whoever wrote it.
 */
export function withIncludes(
  unit: Includable,
  find: FindIncludable,
): { readonly text: string; readonly faults: readonly IncludeFault[] } {
  if (includesIn(unit.body).length === 0) return { text: unit.body, faults: [] }
  const faults: IncludeFault[] = []
  const budget = { count: INCLUDE_LIMITS.count, bytes: INCLUDE_LIMITS.bytes - utf8Length(unit.body) }
  let isFull = false

  function expand({ path: within, body }: Includable, trail: readonly string[]): string {
    const includes = new Map(includesIn(body).map(({ path, line }) => [line, path]))
    if (includes.size === 0) return body
    const lines = markdownLines(body).flatMap(({ text, number: line }) => {
      const path = includes.get(line)
      if (path === undefined) return [text]
      const found = find(path)
      const message = found ? obstacle(found, trail) : undefined
      if (found && message === undefined) {
        budget.count--
        budget.bytes -= utf8Length(found.body)
        return [expand(found, [...trail, found.path])]
      }
      return told({ unit: within, line, message: message ?? `there is no unit "${path}".` }, { path, message })
    })
    return lines.join('\n')
  }

  /** What is said in the place of an include counts like what would stand there, and ends where there is no more room. */
  function told(fault: IncludeFault, { path, message }: { path: string; message: string | undefined }): string[] {
    if (isFull) return []
    // Whether there is one that is for others is not said.
    const words = `[Not included: ${message ?? `there is nothing for you to read at "${path}".`}]`
    budget.bytes -= utf8Length(words)
    // Why it was not is said at least once.
    isFull = faults.length >= MOST_TOLD || (budget.bytes < 0 && faults.length > 0)
    faults.push(isFull ? { ...fault, message: NO_MORE } : fault)
    return [isFull ? `[Not included: ${NO_MORE}]` : words]
  }

  function obstacle({ path, body }: Includable, trail: readonly string[]): string | undefined {
    if (trail.includes(path)) return `"${path}" includes itself: ${circle(path, trail)}.`
    if (trail.length > INCLUDE_LIMITS.depth) return `"${path}" is more than ${INCLUDE_LIMITS.depth} includes deep.`
    if (budget.count <= 0) return `"${path}" is one of more than ${INCLUDE_LIMITS.count} includes.`
    if (utf8Length(body) > budget.bytes) return `with "${path}" it would be longer than ${INCLUDE_LIMITS.bytes} bytes.`
    return undefined
  }

  return { text: expand(unit, [unit.path]), faults }
}

/** More than anybody mends at once. */
const MOST_TOLD = 100
const NO_MORE = 'this line, and others below that are not told one by one.'

/** The way back to a unit, without what lies before it, and without what lies in the middle of a long one. */
function circle(path: string, trail: readonly string[]): string {
  const way = [...trail.slice(trail.indexOf(path)), path]
  return (way.length <= 4 ? way : [...way.slice(0, 2), '…', ...way.slice(-2)]).join(' → ')
}

const utf8 = new TextEncoder()
const utf8Length = (text: string): number => utf8.encode(text).length
