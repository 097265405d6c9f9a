/** A heading and the lines below it, up to the next one of its level or above. */
export interface Heading {
  readonly level: number
  readonly title: string
  readonly from: number
  /** The line after its section. */
  readonly to: number
}

/** Which lines are prose, where tasks and headings count: not front matter, code, formulas or comments. */
export function proseOf(lines: readonly Line[]): boolean[] {
  const start = (frontMatterOf(lines)?.to ?? -1) + 1
  let inside: Enclosure | undefined
  return lines.map(({ text }, index) => {
    if (index < start) return false
    if (inside) {
      if (inside.endsAt(text)) inside = undefined
      return false
    }
    inside = openedBy(text)
    return inside === undefined && !isWholeComment(text)
  })
}

/** The headings of a note, in order. */
export function headingsOf(lines: readonly Line[]): Heading[] {
  const prose = proseOf(lines)
  const found = lines.flatMap(({ text }, from) => {
    const heading = prose[from] ? parseHeading(text) : undefined
    return heading ? [{ ...heading, from }] : []
  })
  return found.map((heading, index) => {
    const next = found.slice(index + 1).find(({ level }) => level <= heading.level)
    return { ...heading, to: next?.from ?? lines.length }
  })
}

/** A block whose lines are no prose. */
interface Enclosure {
  endsAt(text: string): boolean
}

// Fences stand in quotes and lists too.
const FENCE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})(.*)$/

function openedBy(text: string): Enclosure | undefined {
  const [, fence = '', info = ''] = FENCE.exec(text) ?? []
  if (fence !== '' && !(fence.startsWith('`') && info.includes('`'))) return { endsAt: other => closes(fence, other) }
  const trimmed = text.trim()
  if (trimmed.startsWith('<!--') && !trimmed.includes('-->')) return { endsAt: other => other.includes('-->') }
  if (trimmed.startsWith('%%') && !trimmed.includes('%%', 2)) return { endsAt: other => other.includes('%%') }
  return trimmed === '$$' ? { endsAt: other => other.trim().endsWith('$$') } : undefined
}

function closes(fence: string, text: string): boolean {
  const bare = text.replace(/^[ \t>]+/, '').trimEnd()
  const mark = fence.charAt(0)
  return bare.length >= fence.length && [...bare].every(character => character === mark)
}

function isWholeComment(text: string): boolean {
  return /^[ \t]*(%%|<!--)/.test(text)
}

function parseHeading(text: string): Pick<Heading, 'level' | 'title'> | undefined {
  const marks = /^\uFEFF? {0,3}(#{1,6})(?=[ \t]|$)/.exec(text)
  if (!marks) return undefined
  const title = text
    .slice(marks[0].length)
    .trim()
    .replace(/(^|[ \t])#+$/, '')
    .trim()
  return { level: marks[1]?.length ?? 1, title }
}

/** The value of a plain field: a text, or a list of texts. */
export type FieldValue = string | readonly string[]

/** A field of front matter and its lines. */
interface Field {
  readonly key: string
  readonly from: number
  /** The line after it. */
  readonly to: number
  /** Absent for syntax that is not read here; such a field is never changed. */
  readonly value?: FieldValue
}

interface FrontMatter {
  readonly from: number
  /** Its closing line. */
  readonly to: number
  readonly fields: readonly Field[]
}

// Only plain top-level fields are read: the tools write no others, and leave others alone.
const OPENING = /^\uFEFF?---[ \t]*$/
const CLOSING = /^(---|\.\.\.)[ \t]*$/

/** The front matter at the beginning of a note, if it has one that ends. */
export function frontMatterOf(lines: readonly Line[]): FrontMatter | undefined {
  if (!OPENING.test(lines[0]?.text ?? '')) return undefined
  const to = lines.findIndex(({ text }, index) => index > 0 && CLOSING.test(text))
  return to === -1 ? undefined : { from: 1, to, fields: fieldsOf(lines, to) }
}

/** The plain fields as data. The last of two equal keys counts, as in most readers. */
export function fieldsAsData({ fields }: FrontMatter): Record<string, string | string[]> {
  const plain = fields.flatMap(({ key, value }) =>
    value === undefined ? [] : [[key, typeof value === 'string' ? value : [...value]] as const],
  )
  return Object.fromEntries(plain)
}

/** The lines with this field set or removed; `undefined` when it has syntax that is not read here, or is there twice. */
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

export function writeField(key: string, value: FieldValue, ending: string): Line[] {
  if (typeof value === 'string') return [{ text: `${key}: ${scalar(value)}`, end: ending }]
  const items = value.map(item => ({ text: `  - ${scalar(item)}`, end: ending }))
  return items.length === 0 ? [{ text: `${key}: []`, end: ending }] : [{ text: `${key}:`, end: ending }, ...items]
}

/** In quotes, unless every reader takes the plain form for the same text or date. */
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

function openField(text: string): { key: string; rest: string } | undefined {
  if (/^([\s#?-]|$)/.test(text)) return undefined
  const colon = text.search(/:([ \t]|$)/)
  if (colon < 1) return undefined
  return { key: unquoted(text.slice(0, colon).trimEnd()), rest: text.slice(colon + 1).trim() }
}

function unquoted(key: string): string {
  return /^"[^"\\]*"$|^'[^']*'$/.test(key) ? key.slice(1, -1) : key
}

/** The line after the field that begins at `from`. */
function endOf(lines: readonly Line[], from: number, to: number): number {
  let next = from + 1
  while (next < to && isContinued(lines[next]?.text ?? '')) next++
  return next
}

/** Lines that are indented, empty, items or comments may belong to the field above. */
function isContinued(text: string): boolean {
  return /^([ \t#]|-([ \t]|$)|$)/.test(text)
}

/** Comments and empty lines after a field belong to no field. */
function lastOf(lines: readonly Line[], from: number, to: number): number {
  let last = to
  while (last > from + 1 && /^[ \t]*(#|$)/.test(lines[last - 1]?.text ?? '')) last--
  return last
}

function toField(
  { key, rest }: { key: string; rest: string },
  lines: readonly Line[],
  place: { from: number; to: number },
): Field {
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

// Not plain text in YAML: unclosed quotes, anchors, tags, blocks, mappings.
const NOT_PLAIN = /^["'&*!|>%@`{[#]|:([ \t]|$)|[ \t]#/

function plainValue(text: string): string | undefined {
  if (/^"[^"\\]*"$|^'[^']*'$/.test(text)) return text.slice(1, -1)
  return NOT_PLAIN.test(text) ? undefined : text
}

/** A line and its ending: `\n`, `\r\n`, or nothing at the end of a text. */
export interface Line {
  readonly text: string
  readonly end: string
}

/** The lines of a text; `joinLines` gives the same text again. */
export function splitLines(text: string): Line[] {
  const lines: Line[] = []
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start)
    const next = newline === -1 ? text.length : newline + 1
    const cut = newline === -1 ? next : newline > start && text[newline - 1] === '\r' ? newline - 1 : newline
    lines.push({ text: text.slice(start, cut), end: text.slice(cut, next) })
    start = next
  }
  return lines
}

export function joinLines(lines: readonly Line[]): string {
  return lines.map(({ text, end }) => text + end).join('')
}

/** The line ending for lines that are added. */
export function endingOf(lines: readonly Line[]): string {
  return lines.find(({ end }) => end !== '')?.end ?? '\n'
}

export function linesToAdd(text: string, ending: string): Line[] {
  return splitLines(text).map(line => ({ text: line.text, end: ending }))
}

/** Inserts lines before `index`; a last line without an ending before them gets one. */
export function insertLines(lines: readonly Line[], index: number, added: readonly Line[], ending: string): Line[] {
  const before = lines.slice(0, index)
  const last = before.at(-1)
  if (last && last.end === '') before[before.length - 1] = { text: last.text, end: ending }
  return [...before, ...added, ...lines.slice(index)]
}
