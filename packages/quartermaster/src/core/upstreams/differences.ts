import type { ReviewItem } from '../../contracts/index.ts'
import { fieldPath } from './field-path.ts'
import { sideBySide } from './side-by-side.ts'
import { showExactly } from './visible-text.ts'

type Change = ReviewItem['changes'][number]

/** How much of a value is shown, and how many fields. Ordinary definitions stay below; of others it is told what is left. */
const LONGEST_VALUE = 4_000
const MOST_CHANGES = 200
const ALL_OF_IT = 'all of it with --json'

/** What lies behind a longer way is one value: a long key before many would fill the memory with ways. */
const LONGEST_WAY = 500

/** Field by field what differs between two definitions, as texts in which nothing is hidden. All of it without a first. */
export function differencesBetween(before: string | null, after: string): Change[] {
  const old = flattened(before)
  const now = flattened(after)
  const fields = [...new Set([...old.keys(), ...now.keys()])].filter(field => old.get(field) !== now.get(field))
  // Somebody has to see why it waits.
  if (fields.length === 0 && before !== null)
    return [{ field: '', before: 'the same fields', after: 'in another order' }]
  const showField = fieldShower(old, now)
  const changes = fields
    .slice(0, MOST_CHANGES)
    .map(field => ({ field: showField(field), ...change(old.get(field), now.get(field)) }))
  const left = fields.length - changes.length
  return left > 0 ? [...changes, { field: '…', after: `${left} more fields differ; ${ALL_OF_IT}` }] : changes
}

function change(before: string | undefined, after: string | undefined): Omit<Change, 'field'> {
  // What differs in nothing but the spaces around it could not be seen without quotes.
  const isSpace = shown(before)?.trim() === shown(after)?.trim()
  const [from, to] = isSpace ? aroundDifference(before, after) : aroundDifference(shown(before), shown(after))
  return { ...(from === undefined ? {} : { before: from }), ...(to === undefined ? {} : { after: to }) }
}

/**
 * A key may be as long as any text, and is read by a model like any. A long one is shown from where it parts from those of
 * the other side: what two new ones have in common is as new as the rest.
 */
function fieldShower(old: Fields, now: Fields): (field: string) => string {
  const longOf = (fields: Fields, others: Fields) =>
    [...fields.keys()].filter(field => field.length > LONGEST_VALUE && !others.has(field)).map(showExactly)
  const [longBefore, longNow] = [longOf(old, now), longOf(now, old)]
  return field => {
    const text = showExactly(field)
    if (text.length <= LONGEST_VALUE) return text
    const others = old.has(field) ? (now.has(field) ? [] : longNow) : longBefore
    const same = others.reduce((most, other) => Math.max(most, sharedLength(text, other)), 0)
    return cut(text, { start: Math.max(0, same - CONTEXT) })
  }
}

type Fields = ReadonlyMap<string, string>

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

/** Of two long texts what they begin and end with alike is left out, or the difference might not be among what is shown. */
function aroundDifference(
  before: string | undefined,
  after: string | undefined,
): [string | undefined, string | undefined] {
  if (before === undefined || after === undefined)
    return [
      before === undefined ? undefined : cut(showExactly(before)),
      after === undefined ? undefined : cut(showExactly(after)),
    ]
  const [from, to] = sideBySide(before, after)
  if (from.length <= LONGEST_VALUE && to.length <= LONGEST_VALUE) return [from, to]
  const start = sharedLength(from, to)
  const end = sharedEnd(from, to, start)
  const around = { start: Math.max(0, start - CONTEXT), end: Math.max(0, end - CONTEXT) }
  return [cut(from, around), cut(to, around)]
}

const CONTEXT = 60

/** How much of their beginnings is the same. */
function sharedLength(one: string, other: string): number {
  let same = 0
  while (same < one.length && one[same] === other[same]) same++
  return same
}

/** How much of their ends is the same, behind what they begin with alike. */
function sharedEnd(one: string, other: string, start: number): number {
  const most = Math.min(one.length, other.length) - start
  let same = 0
  while (same < most && one.at(-1 - same) === other.at(-1 - same)) same++
  return same
}

/** Without so much of its beginning and end; of what is still too long the head and the tail, and how much lies between. */
function cut(text: string, { start = 0, end = 0 }: { start?: number; end?: number } = {}): string {
  const middle = pieceOf(text, start, text.length - end)
  const [before, behind] = [start > 0 ? '…' : '', end > 0 ? '…' : '']
  const left = middle.length - LONGEST_VALUE
  if (left <= 0) return `${before}${middle}${behind}`
  const head = pieceOf(middle, 0, LONGEST_VALUE / 2)
  const tail = pieceOf(middle, middle.length - LONGEST_VALUE / 2, middle.length)
  return `${before}${head}… (${left} more characters; ${ALL_OF_IT}) …${tail}${behind}`
}

/** No half of a surrogate pair at either end. */
function pieceOf(text: string, from: number, to: number): string {
  return text.slice(from, to).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')
}

/** Every value as JSON, by its path. Empty lists and objects are values too. Two that have all of it alike are alike. */
function flattened(definition: string | null): Fields {
  const fields = new Map<string, string>()
  if (definition === null) return fields
  const open: { path: string; value: unknown }[] = [{ path: '', value: JSON.parse(definition) }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { path, value } = next
    const inner = path.length > LONGEST_WAY ? [] : innerOf(value)
    if (inner.length === 0) fields.set(path, JSON.stringify(value))
    for (const [key, child] of inner.toReversed()) open.push({ path: fieldPath(path, key), value: child })
  }
  return fields
}

function innerOf(value: unknown): [string | number, unknown][] {
  if (Array.isArray(value)) return [...value.entries()]
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}
