// @ts-check
import { verdictOf } from './figure.mjs'

/** @typedef {import('./figure.mjs').Figure} Figure */

/**
 * All figures as one table for people.
 * @param {readonly (Figure & { part: string })[]} figures
 */
export function renderTable(figures) {
  const rows = figures.map(figure => [
    `${figure.part}: ${figure.what}`,
    `${round(figure.measured)} ${figure.unit}`,
    figure.goal === undefined ? '' : `${round(figure.goal)} ${figure.unit}`,
    verdictOf(figure) ?? '',
  ])
  return renderRows([['what', 'measured', 'goal (at most)', ''], ...rows])
}

/** @param {readonly (readonly string[])[]} rows */
function renderRows(rows) {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const lines = rows.map(row => row.map((cell, column) => align(cell, column, widths[column] ?? 0)).join('  '))
  return lines.map(line => line.trimEnd()).join('\n')
}

/**
 * @param {string} cell
 * @param {number} column
 * @param {number} width
 */
function align(cell, column, width) {
  return column === 1 || column === 2 ? cell.padStart(width) : cell.padEnd(width)
}

/** Three digits that mean something. @param {number} value */
function round(value) {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}
