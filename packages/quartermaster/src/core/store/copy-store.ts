import { AppError, ROWS, type Row, type Table } from '../../contracts/index.ts'
import { canonicalJson, type Digest, toBase64 } from '../kernel/index.ts'
import { pagesOf, type Store } from './store.ts'
import { insert } from './write.ts'

/** A copied table: the number of its rows and a digest over all of them. */
export interface CopiedTable {
  readonly table: Table
  readonly rows: number
  readonly digest: string
}

export interface CopyStoreOptions {
  readonly from: Store
  readonly to: Store
  readonly digest: Digest
  onProgress?(progress: { readonly table: Table; readonly done: number; readonly total: number }): void
}

/** The tables that are copied: which processes run is not part of the data. */
export const COPIED_TABLES = (Object.keys(ROWS) as Table[]).filter(table => table !== 'nodes' && table !== 'leases')

/** Some rows hold whole results; chunks hold a quarter of a megabyte each. */
const PAGE = 200
const PAGE_OF_CHUNKS = 20

/** Copies every row into an empty store and reads all of it back. Throws `INTERNAL` where the copy differs. */
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

/** The row count and the digest of a table, in the order of the ids. */
export async function summaryOf(store: Store, table: Table, digest: Digest): Promise<CopiedTable> {
  let summary: CopiedTable = { table, rows: 0, digest: digest('') }
  for await (const page of rowsById(store, table)) summary = withPage(summary, page, digest)
  return summary
}

async function copyTable(table: Table, { from, to, digest, onProgress }: CopyStoreOptions): Promise<CopiedTable> {
  const total = await from.count(table)
  let summary: CopiedTable = { table, rows: 0, digest: digest('') }
  for await (const page of rowsById(from, table)) {
    const { committed } = await to.commit(page.map(row => insert(table, row as never)))
    if (!committed)
      throw new AppError('CONFIG_INVALID', `The table "${table}" has rows already. Name an empty database.`)
    summary = withPage(summary, page, digest)
    onProgress?.({ table, done: summary.rows, total })
  }
  return summary
}

function rowsById(store: Store, table: Table): AsyncGenerator<readonly Row<Table>[]> {
  const query = { order: { by: ['id'] }, limit: table === 'chunks' ? PAGE_OF_CHUNKS : PAGE }
  return pagesOf<Table>(store, table, query as never) as AsyncGenerator<readonly Row<Table>[]>
}

function withPage(
  { table, rows, digest: before }: CopiedTable,
  page: readonly Row<Table>[],
  digest: Digest,
): CopiedTable {
  const lines = page.map(row => canonicalJson(withBase64(row)))
  return { table, rows: rows + page.length, digest: digest([before, ...lines].join('\n')) }
}

/** JSON has no bytes, so base64 stands for them. */
function withBase64(row: Row<Table>): unknown {
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? toBase64(value) : value,
  ])
  return Object.fromEntries(entries)
}

function differs(written: CopiedTable, read: CopiedTable): AppError {
  const message = `The copy of "${written.table}" differs: ${written.rows} rows were written, and ${read.rows} were read back. Nothing was kept. Try again.`
  return new AppError('INTERNAL', message, { details: { table: written.table } })
}
