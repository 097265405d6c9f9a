import { ROWS, type Table } from '../../contracts/index.ts'
import { type ChangedRows, mergeNews } from '../../core/store/index.ts'

/** News as they go over the wire: who sends them, and the rows. It has ids and nothing else of what is in rows. */
export interface SentNews {
  readonly by: string
  readonly rows: readonly ChangedRows[]
}

/** PostgreSQL takes less than 8,000 bytes. */
const MOST_BYTES = 7_500
/** Whoever hears of more looks at all of them faster than at each. */
const MOST_IDS = 100

/** The text of news, or nothing where there are none. Of too many rows it says no more than which tables they are in. */
export function encodeNews(by: string, news: readonly ChangedRows[]): string | undefined {
  if (news.length === 0) return undefined
  const rows = mergeNews(news).map(({ table, ids }) => ({ table, ids: ids.length > MOST_IDS ? ('any' as const) : ids }))
  const text = textOf(by, rows)
  return Buffer.byteLength(text) <= MOST_BYTES
    ? text
    : textOf(
        by,
        rows.map(({ table }) => ({ table, ids: 'any' })),
      )
}

function textOf(by: string, rows: readonly ChangedRows[]): string {
  return JSON.stringify([by, ...rows.map(({ table, ids }) => [table, ...(ids === 'any' ? [] : [ids])])])
}

/** Reads news. Tables that this version does not know are left out; what cannot be read is about anything. */
export function decodeNews(text: string): SentNews | undefined {
  try {
    const [by, ...rows] = JSON.parse(text) as [unknown, ...(readonly [string, (readonly string[])?])[]]
    if (typeof by !== 'string') return undefined
    return {
      by,
      rows: rows
        .filter(([table]) => table in ROWS)
        .map(([table, ids]) => ({ table: table as Table, ids: ids ?? 'any' })),
    }
  } catch {
    // Another version's, or somebody else's word on our channel: whoever hears of it looks at everything.
    return undefined
  }
}
