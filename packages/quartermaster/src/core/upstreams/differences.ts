import type { ReviewItem } from '../../contracts/index.ts'
import { fieldPath } from './field-path.ts'
import { looksLike, shortened, showExactly, showLetters } from './visible-text.ts'

type Change = ReviewItem['changes'][number]

/** How much of a value is shown, and how many fields. Ordinary definitions stay below; of others it is told what is left. */
const LONGEST_VALUE = 4_000
const MOST_CHANGES = 200

/** What lies behind a longer way is one value: a long key before many would fill the memory with ways. */
const LONGEST_WAY = 500

/** Field by field what differs between two definitions, as texts in which nothing is hidden. All of it without a first. */
export function differencesBetween(before: string | null, after: string): Change[] {
  const old = flattened(before)
  const now = flattened(after)
  const fields = [...new Set([...old.keys(), ...now.keys()])].filter(field => old.get(field) !== now.get(field))
  if (fields.length === 0 && before !== null) return [otherText(before, after)]
  const showField = fieldShower(old, now)
  const changes = fields
    .slice(0, MOST_CHANGES)
    .map(field => ({ field: showField(field), ...change(old.get(field), now.get(field)) }))
  const left = fields.length - changes.length
  return left > 0 ? [...changes, { field: '…', after: `${left} more fields differ` }] : changes
}

/** Another text of the same fields: rearranged keys, or a number that is written otherwise. Somebody has to see why it waits. */
function otherText(before: string, after: string): Change {
  const [was, is] = [before, after].map(text => JSON.stringify(JSON.parse(text)))
  if (was !== is) return { field: '', before: 'the same fields', after: 'in another order' }
  return { field: '', ...change(before, after) }
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
    return cut(text, Math.max(0, same - CONTEXT))
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

/** Two long texts that begin alike are shown from where they part, or the difference would lie behind the end. */
function aroundDifference(
  before: string | undefined,
  after: string | undefined,
): [string | undefined, string | undefined] {
  const show = before !== undefined && after !== undefined && looksLike(before, after) ? showLetters : showExactly
  const from = before === undefined ? undefined : show(before)
  const to = after === undefined ? undefined : show(after)
  if (from === undefined || to === undefined)
    return [from === undefined ? undefined : cut(from, 0), to === undefined ? undefined : cut(to, 0)]
  if (from.length <= LONGEST_VALUE && to.length <= LONGEST_VALUE) return [from, to]
  const start = Math.max(0, sharedLength(from, to) - CONTEXT)
  return [cut(from, start), cut(to, start)]
}

const CONTEXT = 60

/** How much of their beginnings is the same. */
function sharedLength(one: string, other: string): number {
  let same = 0
  while (same < one.length && one[same] === other[same]) same++
  return same
}

function cut(text: string, start: number): string {
  const rest = start === 0 ? text : `…${text.slice(start).replace(/^[\udc00-\udfff]/, '')}`
  const left = rest.length - LONGEST_VALUE
  return left > 0 ? `${shortened(rest, LONGEST_VALUE)} (${left + 1} more characters)` : rest
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
