import type { ReviewItem } from '../../contracts/index.ts'
import { type DifferingPlace, differingPlaces, type Range, sharedLength } from './differing-places.ts'
import { fieldPath } from './field-path.ts'
import { sideBySide } from './side-by-side.ts'
import { showExactly } from './visible-text.ts'

type Change = ReviewItem['changes'][number]

/** How much of a value is shown, and how many fields. Ordinary definitions stay below; of others it is told what is left. */
const LONGEST_VALUE = 4_000
const MOST_CHANGES = 200
/** In how many places a value is shown, and how much of each where they are many. */
const MOST_PLACES = 20
const LEAST_SHOWN = 400
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
    [...fields.keys()].filter(field => field.length > LONGEST_VALUE && !others.has(field))
  const [longBefore, longNow] = [longOf(old, now), longOf(now, old)]
  return field => {
    if (field.length <= LONGEST_VALUE) return showExactly(field)
    const others = old.has(field) ? (now.has(field) ? [] : longNow) : longBefore
    const same = others.reduce((most, other) => Math.max(most, sharedLength(field, other)), 0)
    return beginningAt(field, Math.max(0, same - CONTEXT))
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

/** Of two long texts only the places where they differ are told, or the difference might not be among what is shown. */
function aroundDifference(
  before: string | undefined,
  after: string | undefined,
): [string | undefined, string | undefined] {
  if (before === undefined || after === undefined)
    return [
      before === undefined ? undefined : beginningAt(before, 0),
      after === undefined ? undefined : beginningAt(after, 0),
    ]
  const isShort = before.length <= LONGEST_VALUE && after.length <= LONGEST_VALUE
  const places = isShort
    ? [{ one: wholeOf(before), other: wholeOf(after) }]
    : wider(differingPlaces(before, after), before.length)
  const from = excerptAt(
    before,
    places.map(({ one }) => one),
  )
  const to = excerptAt(
    after,
    places.map(({ other }) => other),
  )
  const [fromShown, toShown] = sideBySide(from.parts, to.parts)
  return [joined(fromShown, from), joined(toShown, to)]
}

/** The text from there on, as much of it as is shown. */
function beginningAt(text: string, start: number): string {
  const excerpt = excerptAt(text, [[start, text.length]])
  return joined(excerpt.parts.map(showExactly), excerpt)
}

function wholeOf(text: string): Range {
  return [0, text.length]
}

/** What stands around a difference, on either side. */
const CONTEXT = 60

/** With what stands around them. Those that would touch are one. */
function wider(places: readonly DifferingPlace[], length: number): DifferingPlace[] {
  const all: DifferingPlace[] = []
  for (const { one, other } of places) {
    const last = all.at(-1)
    const lead = Math.min(CONTEXT, one[0])
    const isNear = last !== undefined && one[0] - lead <= last.one[1]
    const tail = Math.min(CONTEXT, length - one[1])
    const place: DifferingPlace = {
      one: [isNear ? last.one[0] : one[0] - lead, one[1] + tail],
      other: [isNear ? last.other[0] : other[0] - lead, other[1] + tail],
    }
    if (isNear) all.pop()
    all.push(place)
  }
  return all
}

/** Pieces of a text, and what is told of what was left out before, between and behind them. */
interface Excerpt {
  readonly parts: readonly string[]
  readonly gaps: readonly string[]
}

/** The text at these places. Of what is still too long the head and the tail, and how much lies between. */
function excerptAt(text: string, places: readonly Range[]): Excerpt {
  const shown = places.slice(0, MOST_PLACES)
  const half = Math.floor(Math.max(LEAST_SHOWN, LONGEST_VALUE / shown.length) / 2)
  const parts: string[] = []
  const gaps: string[] = []
  for (const [from, to] of shown) {
    gaps.push(gaps.length > 0 ? '…\n…' : from > 0 ? '…' : '')
    const left = to - from - 2 * half
    if (left <= 0) parts.push(pieceOf(text, from, to))
    else {
      parts.push(pieceOf(text, from, from + half), pieceOf(text, to - half, to))
      gaps.push(`… (${left} more characters; ${ALL_OF_IT}) …`)
    }
  }
  const more = places.length - shown.length
  const isCut = (shown.at(-1)?.[1] ?? 0) < text.length
  gaps.push(more > 0 ? `…\n… (${more} more places differ; ${ALL_OF_IT})` : isCut ? '…' : '')
  return { parts, gaps }
}

function joined(parts: readonly string[], { gaps }: Excerpt): string {
  return gaps.map((gap, at) => gap + (parts[at] ?? '')).join('')
}

/** No half of a surrogate pair at either end, unless the text itself has it so. */
function pieceOf(text: string, from: number, to: number): string {
  const isInPair = (at: number) => at > 0 && /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1))
  return text.slice(isInPair(from) ? from + 1 : from, isInPair(to) ? to - 1 : to)
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
