import type { Row, Table } from '../../contracts/index.ts'
import type { Query, Store } from './store.ts'
import type { Where } from './write.ts'

/** As many as one question to the store may answer. */
const PAGE = 1_000

/** All rows that are meant, or only these columns of them, in the order of their ids. For what there is not too much of. */
export async function allRows<T extends Table, C extends keyof Row<T> = keyof Row<T>>(
  store: Pick<Store, 'find'>,
  table: T,
  where: Where<T>,
  columns?: readonly C[],
): Promise<Pick<Row<T>, C>[]> {
  const found: Pick<Row<T>, C>[] = []
  // Paging goes by it, whoever wants it.
  const read = columns && [...new Set<keyof Row<T>>(['id', ...columns])]
  for (let after: readonly string[] | undefined; ; ) {
    const query = { where, order: { by: ['id'] }, limit: PAGE, ...(read && { columns: read }), ...(after && { after }) }
    const rows = (await store.find(table, query as unknown as Query<T>)) as readonly Row<T>[]
    found.push(...rows)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return found
    after = [last.id]
  }
}
