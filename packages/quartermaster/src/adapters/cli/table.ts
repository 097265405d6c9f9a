import type { Paint, Style } from './ansi.ts'
import { escapeLine, withoutGaps } from './escape.ts'
import { cut, displayWidth, padEnd, wrap } from './width.ts'

export interface Cell {
  text: string
  style?: Style | undefined
}

export interface Column {
  title: string
  /** Gives way when the terminal is too narrow, and goes on in the next line. */
  flexible?: boolean
}

export interface Row {
  cells: readonly (string | Cell)[]
  /** Lines under the row that belong to it. */
  notes?: readonly string[]
}

export interface Table {
  columns: readonly Column[]
  rows: readonly Row[]
}

/** Columns the layout may use; absent where nobody looks, so that nothing is broken or cut. */
export interface Frame {
  paint: Paint
  width: number | undefined
}

const GAP = 2
const NARROWEST = 10

/** A table with aligned columns. Texts are escaped here, so that callers cannot forget it. */
export function renderTable({ columns, rows }: Table, { paint, width }: Frame): string {
  const cells = rows.map(row => row.cells.map(toCell))
  const widths = fit(columns, naturalWidths(columns, cells), width)
  const header = renderRow(
    columns.map(column => ({ text: column.title.toUpperCase(), style: paint.bold })),
    columns,
    widths,
  )
  const lines = rows.flatMap((row, i) => [
    ...renderRow(cells[i] ?? [], columns, widths),
    ...(row.notes ?? []).flatMap(note => renderNote(note, { paint, width })),
  ])
  return `${[...header, ...lines].join('\n')}\n`
}

function toCell(cell: string | Cell): Cell {
  const { text, style } = typeof cell === 'string' ? { text: cell, style: undefined } : cell
  return { text: withoutGaps(escapeLine(text)), style }
}

function naturalWidths(columns: readonly Column[], rows: readonly (readonly Cell[])[]): number[] {
  return columns.map((column, i) =>
    Math.max(displayWidth(column.title), ...rows.map(row => displayWidth(row[i]?.text ?? ''))),
  )
}

/** Takes what is too much from the widest flexible column, one after the other; what is still too much, from the widest of all. */
function fit(columns: readonly Column[], natural: readonly number[], width: number | undefined): number[] {
  const widths = [...natural]
  if (width === undefined) return widths
  const gaps = GAP * (columns.length - 1)
  const excess = () => widths.reduce((sum, each) => sum + each, gaps) - width
  const shrink = (indices: number[], least: number) => {
    for (
      let i = widest(indices, widths);
      i !== undefined && excess() > 0 && (widths[i] ?? 0) > least;
      i = widest(indices, widths)
    ) {
      widths[i] = (widths[i] ?? 0) - 1
    }
  }
  const all = columns.map((_, i) => i)
  shrink(
    all.filter(i => columns[i]?.flexible),
    NARROWEST,
  )
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
    return column.flexible ? wrap(text, width) : [cut(text, width)]
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
        (cells[i]?.style ?? same)(text) + (i === last ? '' : padEnd(text, widths[i] ?? 0).slice(text.length)),
    )
    .join(' '.repeat(GAP))
}

function renderNote(note: string, { paint, width }: Frame): string[] {
  const text = escapeLine(note)
  const lines = width === undefined ? [text] : wrap(text, width - 4)
  return lines.map((line, i) => `  ${paint.dim(`${i === 0 ? '└' : ' '} ${line}`)}`)
}

function same(text: string): string {
  return text
}
