import type { Line } from './text-lines.ts'

/** What a field of front matter says, as far as it is plain: a text, or a list of them. */
export type FieldValue = string | readonly string[]

/** One field of front matter and the lines it takes up. */
export interface Field {
  readonly key: string
  readonly from: number
  /** The line behind it. */
  readonly to: number
  /** Absent when it is written in a way that is not read here; such a field is never changed. */
  readonly value?: FieldValue
}

/** The front matter of a note: the lines between the two that mark it, and its fields. */
export interface FrontMatter {
  readonly from: number
  /** The line that ends it. */
  readonly to: number
  readonly fields: readonly Field[]
}

// Only plain top-level fields are read: this is enough for what the tools write, and everything else is left alone.
const OPENING = /^\uFEFF?---[ \t]*$/
const CLOSING = /^(---|\.\.\.)[ \t]*$/

/** The front matter at the beginning of a note, if it has one that ends. */
export function frontMatterOf(lines: readonly Line[]): FrontMatter | undefined {
  if (!OPENING.test(lines[0]?.text ?? '')) return undefined
  const to = lines.findIndex(({ text }, index) => index > 0 && CLOSING.test(text))
  return to === -1 ? undefined : { from: 1, to, fields: fieldsOf(lines, to) }
}

/** The plain fields as data. Of a key that is there twice the last counts, as for most readers. */
export function fieldsAsData({ fields }: FrontMatter): Record<string, string | string[]> {
  const plain = fields.flatMap(({ key, value }) =>
    value === undefined ? [] : [[key, typeof value === 'string' ? value : [...value]] as const],
  )
  return Object.fromEntries(plain)
}

/**
 * The lines with this field set, or without it. All others stay as they are; nothing when the field is written in a way
 * that is not read here, or is there twice.
 */
export function withField(
  lines: readonly Line[],
  key: string,
  change: { value: FieldValue | undefined; ending: string },
): Line[] | undefined {
  const matter = frontMatterOf(lines)
  if (!matter) return undefined
  const found = matter.fields.filter(field => field.key === key)
  const [field] = found
  if (found.length > 1 || (field && field.value === undefined)) return undefined
  const written = change.value === undefined ? [] : writeField(key, change.value, change.ending)
  const { from, to } = field ?? { from: matter.to, to: matter.to }
  return [...lines.slice(0, from), ...written, ...lines.slice(to)]
}

/** A field as lines. */
export function writeField(key: string, value: FieldValue, ending: string): Line[] {
  if (typeof value === 'string') return [{ text: `${key}: ${scalar(value)}`, end: ending }]
  const items = value.map(item => ({ text: `  - ${scalar(item)}`, end: ending }))
  return items.length === 0 ? [{ text: `${key}: []`, end: ending }] : [{ text: `${key}:`, end: ending }, ...items]
}

/** Plain where every reader takes it for the same text or date; in quotes otherwise. */
function scalar(text: string): string {
  const isPlain = /^[\p{L}_][\p{L}\p{N}_/-]*$/u.test(text) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text)
  return isPlain || /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(text) ? text : JSON.stringify(text)
}

function fieldsOf(lines: readonly Line[], to: number): Field[] {
  const fields: Field[] = []
  for (let from = 1; from < to; ) {
    const opened = openField(lines[from]?.text ?? '')
    const next = opened ? endOf(lines, from, to) : from + 1
    if (opened) fields.push(toField(opened, lines, { from, to: lastOf(lines, from, next) }))
    from = next
  }
  return fields
}

interface Opened {
  readonly key: string
  readonly rest: string
}

function openField(text: string): Opened | undefined {
  if (/^([\s#?-]|$)/.test(text)) return undefined
  const colon = text.search(/:([ \t]|$)/)
  if (colon < 1) return undefined
  return { key: unquoted(text.slice(0, colon).trimEnd()), rest: text.slice(colon + 1).trim() }
}

function unquoted(key: string): string {
  return /^"[^"\\]*"$|^'[^']*'$/.test(key) ? key.slice(1, -1) : key
}

/** The line behind all that may belong to the field that begins here. */
function endOf(lines: readonly Line[], from: number, to: number): number {
  let next = from + 1
  while (next < to && isContinued(lines[next]?.text ?? '')) next++
  return next
}

/** Lines that are indented, empty, items or comments may belong to the field above. */
function isContinued(text: string): boolean {
  return /^([ \t#]|-([ \t]|$)|$)/.test(text)
}

/** Comments and empty lines behind a field belong to nobody. */
function lastOf(lines: readonly Line[], from: number, to: number): number {
  let last = to
  while (last > from + 1 && /^[ \t]*(#|$)/.test(lines[last - 1]?.text ?? '')) last--
  return last
}

function toField({ key, rest }: Opened, lines: readonly Line[], place: { from: number; to: number }): Field {
  const below = lines.slice(place.from + 1, place.to).map(({ text }) => text)
  const value = below.length === 0 ? inlineValue(rest) : rest === '' ? listValue(below) : undefined
  return value === undefined ? { key, ...place } : { key, ...place, value }
}

function listValue(below: readonly string[]): string[] | undefined {
  const items = below.map(text => /^[ \t]*-[ \t]+(\S.*)$/.exec(text)?.[1]?.trim())
  const values = items.map(item => (item === undefined || /^[[{]/.test(item) ? undefined : plainValue(item)))
  return values.every(value => value !== undefined) ? values : undefined
}

function inlineValue(rest: string): FieldValue | undefined {
  if (!rest.startsWith('[')) return plainValue(rest)
  if (!rest.endsWith(']') || /[[\]{}"'#&*!|>]/.test(rest.slice(1, -1))) return undefined
  const items = rest.slice(1, -1).split(',')
  const isEmpty = items.length === 1 && items[0]?.trim() === ''
  return isEmpty ? [] : items.map(item => item.trim())
}

// What begins so is no plain text for a reader of YAML: quotes that are not closed, anchors, tags, blocks, mappings.
const NOT_PLAIN = /^["'&*!|>%@`{[#]|:([ \t]|$)|[ \t]#/

function plainValue(text: string): string | undefined {
  if (/^"[^"\\]*"$|^'[^']*'$/.test(text)) return text.slice(1, -1)
  return NOT_PLAIN.test(text) ? undefined : text
}
