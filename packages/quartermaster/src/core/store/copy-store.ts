import { AppError, ROWS, type Row, type Table } from '../../contracts/index.ts'
import { canonicalJson, type Digest, toBase64 } from '../kernel/index.ts'
import type { Store } from './store.ts'
import { insert } from './write.ts'

/** What was copied of one table: how many rows, and what all of them together are known by. */
export interface CopiedTable {
  readonly table: Table
  readonly rows: number
  readonly digest: string
}

export interface CopyStoreOptions {
  readonly from: Store
  readonly to: Store
  readonly digest: Digest
  /** Told now and then how far it has come. */
  onProgress?(progress: { readonly table: Table; readonly done: number; readonly total: number }): void
}

/** The tables that are copied: which processes run is no part of what was kept. */
export const COPIED_TABLES = (Object.keys(ROWS) as Table[]).filter(table => table !== 'nodes' && table !== 'leases')

/** Some rows hold whole results, and those of content a quarter of a megabyte each. */
const PAGE = 200
const PAGE_OF_CONTENT = 20

/** Copies every row into an empty store, and reads all of it there again. Throws `INTERNAL` where it is not the same. */
export async function copyStore(options: CopyStoreOptions): Promise<readonly CopiedTable[]> {
  const copied: CopiedTable[] = []
  for (const table of COPIED_TABLES) {
    const written = await copyTable(table, options)
    const read = await summaryOf(options.to, table, options.digest)
    if (written.rows !== read.rows || written.digest !== read.digest) throw differs(written, read)
    copied.push(read)
  }
  return copied
}

/** What all rows of a table are known by, in the order of their ids. */
export async function summaryOf(store: Store, table: Table, digest: Digest): Promise<CopiedTable> {
  let summary: CopiedTable = { table, rows: 0, digest: digest('') }
  for await (const page of pagesOf(store, table)) summary = withPage(summary, page, digest)
  return summary
}

async function copyTable(table: Table, { from, to, digest, onProgress }: CopyStoreOptions): Promise<CopiedTable> {
  const total = await from.count(table)
  let summary: CopiedTable = { table, rows: 0, digest: digest('') }
  for await (const page of pagesOf(from, table)) {
    const { committed } = await to.commit(page.map(row => insert(table, row as never)))
    if (!committed)
      throw new AppError('CONFIG_INVALID', `The table "${table}" has rows already. Name an empty database.`)
    summary = withPage(summary, page, digest)
    onProgress?.({ table, done: summary.rows, total })
  }
  return summary
}

async function* pagesOf(store: Store, table: Table): AsyncGenerator<readonly Row<Table>[]> {
  const limit = table === 'chunks' ? PAGE_OF_CONTENT : PAGE
  const query = { order: { by: ['id'] as const }, limit }
  for (let after: readonly string[] | undefined; ; ) {
    const page = (await store.find(table, (after ? { ...query, after } : query) as never)) as readonly Row<Table>[]
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (!last || page.length < limit) return
    after = [last.id]
  }
}

function withPage(
  { table, rows, digest: before }: CopiedTable,
  page: readonly Row<Table>[],
  digest: Digest,
): CopiedTable {
  return {
    table,
    rows: rows + page.length,
    digest: digest([before, ...page.map(row => canonicalJson(written(row)))].join('\n')),
  }
}

/** Bytes are no JSON: they are known by their base64. */
function written(row: Row<Table>): unknown {
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? toBase64(value) : value,
  ])
  return Object.fromEntries(entries)
}

function differs(written: CopiedTable, read: CopiedTable): AppError {
  const what = `${written.rows} rows of "${written.table}" were copied, and ${read.rows} are there that are not the same`
  return new AppError('INTERNAL', `${what}. Nothing was kept of it; try again.`, { details: { table: written.table } })
}
