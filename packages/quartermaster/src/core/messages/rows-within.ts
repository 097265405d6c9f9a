import type { ActivityRow } from '../../contracts/index.ts'
import { bytesOf } from './bytes-of.ts'

/** Rows that are not too much for one answer. */
export interface RowsWithin {
  readonly rows: readonly ActivityRow[]
  /** Whether there are more behind them. */
  readonly more: boolean
}

/** The next rows behind this one; from the beginning when there is none yet. */
export type ReadRows = (last: ActivityRow | undefined, limit: number) => Promise<readonly ActivityRow[]>

/** As much text as one answer has; the page ends there, and the next goes on behind it. */
const MOST_BYTES = 2 * 1_024 * 1_024
/** So many rows are read at once. A page of the largest messages would take a gigabyte before the first was counted. */
const STEP = 32

/**
 * Reads as many rows as are wanted and are not too much for one answer, together with those that are in it already. One is
 * always in an answer.
 */
export async function rowsWithin(
  limit: number,
  read: ReadRows,
  before: readonly ActivityRow[] = [],
): Promise<RowsWithin> {
  const rows: ActivityRow[] = []
  for (let size = before.reduce((sum, row) => sum + sizeOf(row), 0); ; ) {
    const wanted = Math.min(STEP, limit + 1 - rows.length)
    const found = await read(rows.at(-1), wanted)
    for (const row of found) {
      size += sizeOf(row)
      if (rows.length === limit || (rows.length + before.length > 0 && size > MOST_BYTES)) return { rows, more: true }
      rows.push(row)
    }
    if (found.length < wanted) return { rows, more: false }
  }
}

/** As JSON, where what cannot be seen is six times as large. Parts are in the text as well, and take about as much again. */
function sizeOf({ text, parts }: ActivityRow): number {
  return bytesOf(JSON.stringify(text)) * (parts.length > 0 ? 2 : 1)
}
