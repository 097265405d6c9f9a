import type { ReviewItem } from '../../contracts/index.ts'
import { latinFor } from './scan/look-alikes.ts'
import { fieldPath } from './scan/text.ts'
import { showExactly, showNonAscii } from './visible-text.ts'

type Change = ReviewItem['changes'][number]

/** Shown length of a value and number of fields; of larger definitions the rest is counted. */
const LONGEST_VALUE = 4_000
const MOST_CHANGES = 200
/** The most differing places shown of one value. */
const MOST_PLACES = 20
const LEAST_SHOWN = 400
const ALL_OF_IT = 'all of it with --json'

/** Deeper values count as one: a long key before many others would fill the memory with paths. */
const LONGEST_WAY = 500

/** The fields that differ between two definitions, as texts with nothing hidden. Without `before`, all fields. */
export function differencesBetween(before: string | null, after: string): Change[] {
  const old = flattened(before)
  const now = flattened(after)
  const fields = [...new Set([...old.keys(), ...now.keys()])].filter(field => old.get(field) !== now.get(field))
  // A person has to see why the definition waits.
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
  // A difference in surrounding spaces alone is visible only in quotes.
  const isSpace = shown(before)?.trim() === shown(after)?.trim()
  const [from, to] = isSpace ? aroundDifference(before, after) : aroundDifference(shown(before), shown(after))
  return { ...(from === undefined ? {} : { before: from }), ...(to === undefined ? {} : { after: to }) }
}

/**
 * Shortens long keys. A key may be as long as any text and models read it, so it is shown from where it differs from all keys
 * of the other side.
 */
function fieldShower(old: Fields, now: Fields): (field: string) => string {
  const longOf = (fields: Fields, others: Fields) =>
    [...fields.keys()].filter(field => field.length > LONGEST_VALUE && !others.has(field))
  const [longBefore, longNow] = [longOf(old, now), longOf(now, old)]
  return field => {
    if (field.length <= LONGEST_VALUE) return showExactly(field)
    const others = old.has(field) ? (now.has(field) ? [] : longNow) : longBefore
    const same = others.reduce((most, other) => Math.max(most, commonPrefixLength(field, other)), 0)
    return beginningAt(field, Math.max(0, same - CONTEXT))
  }
}

type Fields = ReadonlyMap<string, string>

/** A text without quotes, unless it reads like another value: `5` is a number, `"5"` is a text. */
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

/** Of two long texts shows only the places where they differ. */
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
    : withContext(differingPlaces(before, after), before.length)
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

function beginningAt(text: string, start: number): string {
  const excerpt = excerptAt(text, [[start, text.length]])
  return joined(excerpt.parts.map(showExactly), excerpt)
}

function wholeOf(text: string): Range {
  return [0, text.length]
}

/** Characters shown on either side of a difference. */
const CONTEXT = 60

/** Adds context to the places and merges those that touch. */
function withContext(places: readonly DifferingPlace[], length: number): DifferingPlace[] {
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

/** Pieces of a text, with notes about the parts left out before, between and behind them. */
interface Excerpt {
  readonly parts: readonly string[]
  readonly gaps: readonly string[]
}

/** The text at these places; of a place that is too long only the head and the tail. */
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

/** Never cuts a surrogate pair in half. */
function pieceOf(text: string, from: number, to: number): string {
  const isInPair = (at: number) => at > 0 && /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1))
  return text.slice(isInPair(from) ? from + 1 : from, isInPair(to) ? to - 1 : to)
}

/** Every value as JSON, by its path; empty lists and objects included. Equal results mean equal definitions. */
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

/**
 * Pieces of two texts for comparison. Nothing in them is hidden, and words that look the same but differ are written out
 * character by character, such as with letters of another alphabet.
 */
function sideBySide(one: readonly string[], other: readonly string[]): [string[], string[]] {
  const [all, allOther] = [one.join('\n'), other.join('\n')]
  if (!BEYOND_PLAIN.test(all) && !BEYOND_PLAIN.test(allOther)) return [one.map(showExactly), other.map(showExactly)]
  if (appearanceOf(all) === appearanceOf(allOther)) return [one.map(showNonAscii), other.map(showNonAscii)]
  const [appearances, otherLooks] = [appearancesIn(all), appearancesIn(allOther)]
  return [one.map(text => showBeside(text, otherLooks)), other.map(text => showBeside(text, appearances))]
}

const BEYOND_PLAIN = /[^\x20-\x7e\n\t]/u

/** Words between blanks, and the words and signs that they are made of. */
const CHUNKS = /\S+/g
const PIECES = /[\p{L}\p{M}\p{N}\p{Default_Ignorable_Code_Point}\u00a8\u00b4]+|[^]/gu

/** Pieces by how they look. */
type Appearances = ReadonlyMap<string, ReadonlySet<string>>

function appearancesIn(text: string): Appearances {
  const looks = new Map<string, Set<string>>()
  for (const [chunk] of text.matchAll(CHUNKS)) {
    for (const piece of new Set([chunk, ...(chunk.match(PIECES) ?? [])])) {
      const look = appearanceOf(piece)
      looks.set(look, (looks.get(look) ?? new Set()).add(piece))
    }
  }
  return looks
}

function showBeside(text: string, others: Appearances): string {
  const alike: [number, number][] = []
  for (const { 0: chunk, index } of text.matchAll(CHUNKS)) {
    if (!BEYOND_PLAIN.test(chunk)) continue
    if (isConfusable(chunk, others)) alike.push([index, index + chunk.length])
    else
      for (const { 0: piece, index: at } of chunk.matchAll(PIECES))
        if (isConfusable(piece, others)) alike.push([index + at, index + at + piece.length])
  }
  let shown = ''
  let done = 0
  for (const [from, to] of alike) {
    // With the backslashes before it, which may have to be doubled.
    const start = from - (/(?<!\\)\\+$/.exec(text.slice(done, from))?.[0].length ?? 0)
    shown += showExactly(text.slice(done, start)) + showNonAscii(text.slice(start, to))
    done = to
  }
  return shown + showExactly(text.slice(done))
}

function hasLookAlike(piece: string, others: Appearances): boolean {
  const same = others.get(appearanceOf(piece))
  return same !== undefined && (same.size > 1 || !same.has(piece))
}

/** A character that both texts have is ordinary: many texts have dashes of two lengths. */
function isConfusable(piece: string, others: Appearances): boolean {
  if (!BEYOND_PLAIN.test(piece) || !hasLookAlike(piece, others)) return false
  return /[\p{L}\p{N}]/u.test(piece) || !others.get(appearanceOf(piece))?.has(piece)
}

function appearanceOf(text: string): string {
  if (!BEYOND_PLAIN.test(text)) return text
  const apart = text
    .normalize('NFKD')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    // A separate accent stands behind a space.
    .replace(/ (?=\p{M})/gu, '')
  return Array.from(apart, signOf).join('')
}

function signOf(character: string): string {
  if (character <= '~') return character
  const sign = SIGNS.find(([, alike]) => alike.test(character))
  if (sign) return sign[0]
  const latin = latinFor(character)
  if (latin === undefined) return character
  return character === character.toLowerCase() ? latin : latin.toUpperCase()
}

const SIGNS: readonly (readonly [string, RegExp])[] = [
  ['-', /[\p{Pd}\u02d7\u2043\u2212\u2500\u2796]/u],
  ['/', /[\u2044\u2215\u2571\u29f8]/],
  ['\\', /[\u2216\u2572\u29f5]/],
  ["'", /[\u02b9\u02bb\u02bc\u2018-\u201b\u2032]/],
  ['"', /[\u201c-\u201f\u2033]/],
  [':', /[\u02d0\u2236\ua789]/],
  ['.', /[\u2027\u00b7]/],
  [',', /\u201a/],
  ['*', /[\u2217\u204e]/],
  ['~', /[\u223c\u02dc]/],
  ['<', /[\u2039\u02c2]/],
  ['>', /[\u203a\u02c3]/],
  ['|', /[\u2223\u2502\u01c0]/],
  ['!', /\u01c3/],
]

/** The differing part of each of two texts. */
interface DifferingPlace {
  readonly one: Range
  readonly other: Range
}

type Range = readonly [from: number, to: number]

/** So many equal characters put two texts in step again. */
const BLOCK = 32

/** The places where two texts differ, in order. Everything between them is equal. */
function differingPlaces(one: string, other: string): DifferingPlace[] {
  const start = commonPrefixLength(one, other)
  const end = commonSuffixLength(one, other, start)
  const within = { start, oneEnd: one.length - end, otherEnd: other.length - end }
  const places: DifferingPlace[] = []
  let [at, otherAt] = [start, start]
  const takeUntil = (next: number, otherNext: number) => {
    if (next > at || otherNext > otherAt) places.push({ one: [at, next], other: [otherAt, otherNext] })
  }
  for (const [found, otherFound] of inOrder(sharedBlocks(one, other, within))) {
    if (found < at || otherFound < otherAt) continue
    let back = 0
    const most = Math.min(found - at, otherFound - otherAt)
    while (back < most && one[found - back - 1] === other[otherFound - back - 1]) back++
    takeUntil(found - back, otherFound - back)
    at = found
    otherAt = otherFound
    for (; at < within.oneEnd && otherAt < within.otherEnd && one[at] === other[otherAt]; at++) otherAt++
  }
  takeUntil(within.oneEnd, within.otherEnd)
  return places
}

function commonPrefixLength(one: string, other: string): number {
  let same = 0
  while (same < one.length && one[same] === other[same]) same++
  return same
}

/** The length of their common end, behind the common beginning. */
function commonSuffixLength(one: string, other: string, start: number): number {
  const most = Math.min(one.length, other.length) - start
  let same = 0
  while (same < most && one.at(-1 - same) === other.at(-1 - same)) same++
  return same
}

/** Positions of the same block in both texts. */
type Pair = readonly [at: number, otherAt: number]

/** Blocks that occur once in `one`, wherever `other` has them, in the order of `other`. */
function sharedBlocks(
  one: string,
  other: string,
  { start, oneEnd, otherEnd }: { start: number; oneEnd: number; otherEnd: number },
): Pair[] {
  const places = new Map<string, number>()
  for (let at = start; at + BLOCK <= oneEnd; at += BLOCK) {
    const block = one.slice(at, at + BLOCK)
    places.set(block, places.has(block) ? -1 : at)
  }
  const pairs: Pair[] = []
  for (let otherAt = start; otherAt + BLOCK <= otherEnd; otherAt++) {
    const at = places.get(other.slice(otherAt, otherAt + BLOCK)) ?? -1
    if (at >= 0) pairs.push([at, otherAt])
  }
  return pairs
}

/** The longest increasing sequence of these pairs, so that a block copied elsewhere does not put the rest out of step. */
function inOrder(pairs: readonly Pair[]): Pair[] {
  interface Link {
    readonly pair: Pair
    readonly before: Link | undefined
  }
  const lasts: Link[] = []
  for (const pair of pairs) {
    let [low, high] = [0, lasts.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((lasts[middle] as Link).pair[0] < pair[0]) low = middle + 1
      else high = middle
    }
    lasts[low] = { pair, before: lasts[low - 1] }
  }
  const row: Pair[] = []
  for (let link = lasts.at(-1); link; link = link.before) row.push(link.pair)
  return row.toReversed()
}
