import type { Frame, Style } from './terminal.ts'
import { escapeLine, escapeProse, withoutGaps } from './terminal.ts'

/** A paragraph, indented and broken to the frame. Escaped. */
export function paragraph(text: string, { width }: Pick<Frame, 'width'>, indent = ''): string {
  const block = escapeProse(text).replace(/\n+$/, '')
  const lines = width === undefined ? block.split('\n') : wrap(block, width - displayWidth(indent))
  return `${lines.map(line => (line === '' ? '' : indent + line)).join('\n')}\n`
}

/** The same without wrapping, for texts that a person copies lines from. */
export function unwrapped(text: string, indent = ''): string {
  return paragraph(text, { width: undefined }, indent)
}

/** Names with their values beside them, aligned. Escaped; an absent value leaves its line out. */
export function fields(entries: readonly (readonly [name: string, value: string | undefined])[], frame: Frame): string {
  const present = entries.filter(
    (entry): entry is readonly [string, string] => entry[1] !== undefined && entry[1] !== '',
  )
  const column = Math.max(0, ...present.map(([name]) => displayWidth(name))) + 2
  return present.map(([name, value]) => field(name, value, column, frame)).join('')
}

/** `1 tool`, `2 tools`, `3 capabilities`. */
export function count(amount: number, noun: string): string {
  return `${amount} ${amount === 1 ? noun : `${noun}s`.replace(/([^aeiou])ys$/, '$1ies')}`
}

function field(name: string, value: string, column: number, { paint, width }: Frame): string {
  const text = escapeLine(value)
  const lines = width === undefined ? [text] : wrap(text, width - column)
  const head = paint.dim(name) + ' '.repeat(column - displayWidth(name))
  return lines.map((line, i) => `${i === 0 ? head : padEnd('', column)}${line}\n`).join('')
}

interface Cell {
  text: string
  style?: Style | undefined
}

/** A title. A column that wraps gives way when the terminal is too narrow, and continues in the next line. */
type Column = string | { readonly wraps: string }

type Cells = readonly (string | Cell)[]

/** A row with notes has lines under it that belong to it. */
export type Row = Cells | { readonly cells: Cells; readonly notes: readonly string[] }

const GAP = 2
const NARROWEST = 10

/** A table with aligned columns. Texts are escaped here, so that callers cannot forget it. */
export function renderTable(columns: readonly Column[], rows: readonly Row[], { paint, width }: Frame): string {
  const full = rows.map(row => ('cells' in row ? row : { cells: row, notes: [] }))
  const cells = full.map(row => row.cells.map(toCell))
  const widths = fit(columns, naturalWidths(columns, cells), width)
  const header = renderRow(
    columns.map(column => ({ text: titleOf(column).toUpperCase(), style: paint.bold })),
    columns,
    widths,
  )
  const lines = full.flatMap(({ notes }, i) => [
    ...renderRow(cells[i] ?? [], columns, widths),
    ...notes.flatMap(note => renderNote(note, { paint, width })),
  ])
  return `${[...header, ...lines].join('\n')}\n`
}

function titleOf(column: Column): string {
  return typeof column === 'string' ? column : column.wraps
}

function toCell(cell: string | Cell): Cell {
  const { text, style } = typeof cell === 'string' ? { text: cell, style: undefined } : cell
  return { text: withoutGaps(escapeLine(text)), style }
}

function naturalWidths(columns: readonly Column[], rows: readonly (readonly Cell[])[]): number[] {
  return columns.map((column, i) =>
    Math.max(displayWidth(titleOf(column)), ...rows.map(row => displayWidth(row[i]?.text ?? ''))),
  )
}

/** Narrows the widest wrapping column first, one character at a time; where that is not enough, the widest of all. */
function fit(columns: readonly Column[], natural: readonly number[], width: number | undefined): number[] {
  const widths = [...natural]
  if (width === undefined) return widths
  const room = width - GAP * (columns.length - 1)
  const shrink = (indices: number[], least: number) => {
    while (widths.reduce((sum, each) => sum + each, 0) > room) {
      const i = widest(indices, widths)
      if (i === undefined || (widths[i] ?? 0) <= least) return
      widths[i] = (widths[i] ?? 0) - 1
    }
  }
  const all = columns.map((_, i) => i)
  const wrapping = all.filter(i => typeof columns[i] === 'object')
  shrink(wrapping, NARROWEST)
  shrink(all, 1)
  return widths
}

function widest(indices: readonly number[], widths: readonly number[]): number | undefined {
  return indices.reduce<number | undefined>(
    (best, i) => (best === undefined || (widths[i] ?? 0) > (widths[best] ?? 0) ? i : best),
    undefined,
  )
}

function renderRow(cells: readonly Cell[], columns: readonly Column[], widths: readonly number[]): string[] {
  const wrapped = columns.map((column, i) => {
    const text = cells[i]?.text ?? ''
    const width = widths[i] ?? 0
    return typeof column === 'object' ? wrap(text, width) : [cut(text, width)]
  })
  const height = Math.max(...wrapped.map(lines => lines.length))
  return Array.from({ length: height }, (_, line) =>
    renderLine(
      wrapped.map(lines => lines[line] ?? ''),
      cells,
      widths,
    ),
  )
}

function renderLine(texts: readonly string[], cells: readonly Cell[], widths: readonly number[]): string {
  const last = texts.findLastIndex(text => text !== '')
  return texts
    .slice(0, last + 1)
    .map(
      (text, i) =>
        (cells[i]?.style?.(text) ?? text) + (i === last ? '' : padEnd(text, widths[i] ?? 0).slice(text.length)),
    )
    .join(' '.repeat(GAP))
}

function renderNote(note: string, { paint, width }: Frame): string[] {
  const text = escapeLine(note)
  const lines = width === undefined ? [text] : wrap(text, width - 4)
  return lines.map((line, i) => `  ${paint.dim(`${i === 0 ? '└' : ' '} ${line}`)}`)
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

const PLAIN = /^[\u0020-\u007e]*$/
const NO_WIDTH = /^[\p{M}\p{Cf}]+$/u
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u
/** East Asian wide and full-width characters (Unicode TR 11). */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u

/** How many columns a text takes on a terminal. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  return graphemes(text).reduce((sum, grapheme) => sum + graphemeWidth(grapheme), 0)
}

/** A text padded with spaces to a width; a longer one stays as it is. */
function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)))
}

/** The beginning of a text that fits, with an ellipsis where something was left out. */
export function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  return `${splitAt(text, Math.max(0, width - 1)).head}…`.slice(0, width < 1 ? 0 : undefined)
}

/** The text broken into lines of at most this width, between words where that is possible. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap(line => wrapLine(line, Math.max(1, width)))
}

function wrapLine(line: string, width: number): string[] {
  if (displayWidth(line) <= width) return [line]
  const lines: string[] = []
  let current = ''
  for (const word of line.split(' ')) {
    const longer = current === '' ? word : `${current} ${word}`
    if (displayWidth(longer) <= width) {
      current = longer
      continue
    }
    if (current !== '') lines.push(current)
    const pieces = splitWord(word, width)
    lines.push(...pieces.slice(0, -1))
    current = pieces.at(-1) ?? ''
  }
  return [...lines, current]
}

function splitWord(word: string, width: number): string[] {
  const pieces: string[] = []
  let rest = word
  while (displayWidth(rest) > width) {
    const { head, tail } = splitAt(rest, width)
    if (tail === '') break
    pieces.push(head)
    rest = tail
  }
  return [...pieces, rest]
}

function splitAt(text: string, width: number): { head: string; tail: string } {
  let used = 0
  let length = 0
  for (const grapheme of graphemes(text)) {
    used += graphemeWidth(grapheme)
    // A character wider than the whole line is taken anyway: otherwise nothing would ever be.
    if (used > width && length > 0) break
    length += grapheme.length
    if (used > width) break
  }
  return { head: text.slice(0, length), tail: text.slice(length) }
}

function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), part => part.segment)
}

function graphemeWidth(grapheme: string): number {
  if (NO_WIDTH.test(grapheme)) return 0
  return EMOJI.test(grapheme) || WIDE.test(grapheme) ? 2 : 1
}
