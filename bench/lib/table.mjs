// @ts-check
import { verdictOf } from './figure.mjs'

/** @typedef {import('./figure.mjs').Figure} Figure */
/** @typedef {import('./figure.mjs').Gap} Gap */

/**
 * All figures as one table for people.
 * @param {readonly ((Figure | Gap) & { part: string })[]} figures
 */
export function renderTable(figures) {
  const rows = [['what', 'measured', 'rounds', 'goal (at most)', ''], ...figures.map(toRow)]
  // Most benchmarks take no rounds.
  const hasRounds = figures.some(figure => 'rounds' in figure && figure.rounds)
  return renderRows(hasRounds ? rows : rows.map(([what = '', measured = '', , ...rest]) => [what, measured, ...rest]))
}

/** @param {(Figure | Gap) & { part: string }} row */
function toRow(row) {
  const what = `${row.part}: ${row.what}`
  if ('reason' in row) return [what, 'not measured', '', '', row.reason]
  const goal = row.goal === undefined ? '' : `${round(row.goal)} ${row.unit}`
  const rounds = row.rounds ? `${round(row.rounds.least)} to ${round(row.rounds.most)}` : ''
  return [what, `${round(row.measured)} ${row.unit}`, rounds, goal, verdictOf(row) ?? '']
}

/** @param {readonly (readonly string[])[]} rows */
function renderRows(rows) {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const last = widths.length - 1
  const lines = rows.map(row =>
    row
      .map((cell, column) =>
        column > 0 && column < last ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  '),
  )
  return lines.map(line => line.trimEnd()).join('\n')
}

/** Three digits that mean something. @param {number} value */
function round(value) {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}
