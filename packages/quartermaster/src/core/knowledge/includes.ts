import type { Knowledge } from '../catalogue/index.ts'
import { barePath } from './entry.ts'

/**
 * Limits of what one unit includes, so that a few short files do not make an endless one. The bytes stay below the default
 * `maxResultBytes`, so that directions with their includes can be read at once.
 */
export const INCLUDE_LIMITS = { depth: 8, count: 200, bytes: 196_608 } as const

/** The part of a unit that including needs. */
export type Includable = Pick<Knowledge, 'path' | 'body'>

interface IncludeFault {
  /** The path of the unit with the include. */
  readonly unit: string
  /** The line of its body. */
  readonly line: number
  readonly message: string
}

interface Include {
  readonly path: string
  readonly line: number
}

// More indentation makes it code.
const INCLUDE = /^ {0,3}\{\{[ \t]*include:([^{}]*)\}\}[ \t]*$/
const FENCE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})(.*)$/

/** The lines of a text. Those of fenced code are empty, so that nothing in them has a meaning. */
function linesOutsideFences(body: string): string[] {
  let fence = ''
  return body.split(/\r?\n/).map(line => {
    const [, mark = '', rest = ''] = FENCE.exec(line) ?? []
    if (fence !== '') {
      if (mark.startsWith(fence) && rest.trim() === '') fence = ''
      return ''
    }
    // A line such as ```` ```x``` ```` is code in a sentence.
    if (mark === '' || (mark.startsWith('`') && rest.includes('`'))) return line
    fence = mark
    return ''
  })
}

/** The headings of a text, for search: lines that begin with `#`. Read without a parser, as a search may index ten thousand pages. */
export function headingsOf(body: string): string[] {
  return linesOutsideFences(body).flatMap(line => {
    const [, title] = /^ {0,3}#{1,6}([ \t].*)$/.exec(line) ?? []
    const heading = title
      ?.trim()
      .replace(/(^|[ \t])#+$/, '')
      .trim()
    return heading ? [heading] : []
  })
}

/** The includes of a text: lines such as `{{include: guides/deploy}}`. */
export function includesIn(body: string): readonly Include[] {
  if (!body.includes('{{')) return []
  return linesOutsideFences(body).flatMap((line, index) => {
    const path = INCLUDE.exec(line)?.[1]
    return path === undefined ? [] : [{ path: barePath(path), line: index + 1 }]
  })
}

/** A unit and everything it includes, by path. Units that `find` does not find are left out. */
export function unitsIn<T extends Includable>(unit: T, find: (path: string) => T | undefined): ReadonlyMap<string, T> {
  const reached = new Map([[unit.path, unit]])
  // The loop also visits the entries that it adds.
  for (const { body } of reached.values()) {
    for (const { path } of includesIn(body)) {
      const found = reached.has(path) ? undefined : find(path)
      if (found) reached.set(path, found)
    }
  }
  return reached
}

/**
 * The text of a unit with its includes filled in. An include that fails is reported in its place, for the reader, and as a fault,
 * for the author. `find` returns `undefined` for a unit that the reader does not see.
 */
export function withIncludes(
  unit: Includable,
  find: (path: string) => Includable | undefined,
): { readonly text: string; readonly faults: readonly IncludeFault[] } {
  if (includesIn(unit.body).length === 0) return { text: unit.body, faults: [] }
  const faults: IncludeFault[] = []
  const budget = { count: INCLUDE_LIMITS.count, bytes: INCLUDE_LIMITS.bytes - utf8Length(unit.body) }
  let isFull = false

  function expand({ path: unitPath, body }: Includable, trail: readonly string[]): string {
    const includes = new Map(includesIn(body).map(({ path, line }) => [line, path]))
    if (includes.size === 0) return body
    const lines = body.split(/\r?\n/).flatMap((text, index) => {
      const path = includes.get(index + 1)
      if (path === undefined) return [text]
      const found = find(path)
      const message = found ? refusal(found, trail) : undefined
      if (found && message === undefined) {
        budget.count--
        budget.bytes -= utf8Length(found.body)
        return [expand(found, [...trail, found.path])]
      }
      const fault = { unit: unitPath, line: index + 1, message: message ?? `there is no unit "${path}".` }
      // The reader is not told whether the unit exists for others.
      return notIncluded(fault, message ?? `there is nothing for you to read at "${path}".`)
    })
    return lines.join('\n')
  }

  /** What stands in place of a failed include. It uses up the same budget, and ends when that is spent. */
  function notIncluded(fault: IncludeFault, message: string): string[] {
    if (isFull) return []
    const words = `[Not included: ${message}]`
    budget.bytes -= utf8Length(words)
    // The first failure is always explained.
    isFull = faults.length >= MOST_FAULTS || (budget.bytes < 0 && faults.length > 0)
    faults.push(isFull ? { ...fault, message: MORE_FAULTS } : fault)
    return [isFull ? `[Not included: ${MORE_FAULTS}]` : words]
  }

  function refusal({ path, body }: Includable, trail: readonly string[]): string | undefined {
    if (trail.includes(path)) return `"${path}" includes itself: ${cycleText(path, trail)}.`
    if (trail.length > INCLUDE_LIMITS.depth) return `"${path}" is more than ${INCLUDE_LIMITS.depth} includes deep.`
    if (budget.count <= 0) return `"${path}" is one of more than ${INCLUDE_LIMITS.count} includes.`
    if (utf8Length(body) > budget.bytes) return `with "${path}" it would be longer than ${INCLUDE_LIMITS.bytes} bytes.`
    return undefined
  }

  return { text: expand(unit, [unit.path]), faults }
}

/** More are not fixed at once. */
const MOST_FAULTS = 100
const MORE_FAULTS = 'this line, and others below it that are not listed.'

/** The includes that lead back to a unit; of a long cycle only both ends. */
function cycleText(path: string, trail: readonly string[]): string {
  const cycle = [...trail.slice(trail.indexOf(path)), path]
  return (cycle.length <= 4 ? cycle : [...cycle.slice(0, 2), '…', ...cycle.slice(-2)]).join(' → ')
}

const utf8 = new TextEncoder()
const utf8Length = (text: string): number => utf8.encode(text).length
