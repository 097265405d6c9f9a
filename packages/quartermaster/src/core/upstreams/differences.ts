import type { ReviewItem } from '../../contracts/index.ts'
import { fieldPath } from './field-path.ts'
import { shortened, showHidden } from './visible-text.ts'

type Change = ReviewItem['changes'][number]

/** How much of a value is shown, and how many fields. Ordinary definitions stay below; of others it is told what is left. */
const LONGEST_VALUE = 4_000
const MOST_CHANGES = 200
const LONGEST_FIELD = 200

/** Field by field what differs between two definitions, as texts in which nothing is hidden. All of it without a first. */
export function differencesBetween(before: string | null, after: string): Change[] {
  const old = flattened(before)
  const now = flattened(after)
  const fields = [...new Set([...old.keys(), ...now.keys()])].filter(field => old.get(field) !== now.get(field))
  // Rearranged keys make another text of the same fields. Somebody has to see why it waits.
  if (fields.length === 0 && before !== null)
    return [{ field: '', before: 'the same fields', after: 'in another order' }]
  const changes = fields.slice(0, MOST_CHANGES).map(field => change(field, old.get(field), now.get(field)))
  const left = fields.length - changes.length
  return left > 0 ? [...changes, { field: '…', after: `${left} more fields differ` }] : changes
}

function change(field: string, before: string | undefined, after: string | undefined): Change {
  const [from, to] = aroundDifference(shown(before), shown(after))
  return {
    field: shortened(showHidden(field), LONGEST_FIELD),
    ...(from === undefined ? {} : { before: from }),
    ...(to === undefined ? {} : { after: to }),
  }
}

/** A text stands there as it is, unless it reads like another value: `5` is a number, and `"5"` is a text. */
function shown(json: string | undefined): string | undefined {
  if (!json?.startsWith('"')) return json
  const text: string = JSON.parse(json)
  return isJson(text) ? json : text
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Two long texts that begin alike are shown from where they part, or the difference would lie behind the end. */
function aroundDifference(
  before: string | undefined,
  after: string | undefined,
): [string | undefined, string | undefined] {
  const from = before === undefined ? undefined : showHidden(before)
  const to = after === undefined ? undefined : showHidden(after)
  if (from === undefined || to === undefined) return [cut(from, 0), cut(to, 0)]
  if (from.length <= LONGEST_VALUE && to.length <= LONGEST_VALUE) return [from, to]
  let same = 0
  while (same < from.length && from[same] === to[same]) same++
  const start = Math.max(0, same - CONTEXT)
  return [cut(from, start), cut(to, start)]
}

const CONTEXT = 60

function cut(text: string | undefined, start: number): string | undefined {
  if (text === undefined) return undefined
  const rest = start === 0 ? text : `…${text.slice(start).replace(/^[\udc00-\udfff]/, '')}`
  const left = rest.length - LONGEST_VALUE
  return left > 0 ? `${shortened(rest, LONGEST_VALUE)} (${left + 1} more characters)` : rest
}

/** Every value as JSON, by its path. Empty lists and objects are values too. Two that have all of it alike are alike. */
function flattened(definition: string | null): Map<string, string> {
  const fields = new Map<string, string>()
  if (definition === null) return fields
  const open: { path: string; value: unknown }[] = [{ path: '', value: JSON.parse(definition) }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { path, value } = next
    const inner = innerOf(value)
    if (inner.length === 0) fields.set(path, JSON.stringify(value))
    for (const [key, child] of inner.toReversed()) open.push({ path: fieldPath(path, key), value: child })
  }
  return fields
}

function innerOf(value: unknown): [string | number, unknown][] {
  if (Array.isArray(value)) return [...value.entries()]
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}
