import type { Row, Table } from '../../contracts/index.ts'
import type { Store, Where } from '../store/index.ts'

/** As many as one question to the store may answer. */
const PAGE = 1_000

type Listed = Extract<Table, 'workspaces' | 'persons' | 'joincodes' | 'organisations' | 'seats'>

/** All rows that are meant, in the order of their ids. */
export async function allRows<T extends Listed>(store: Store, table: T, where: Where<T>): Promise<Row<T>[]> {
  const found: Row<T>[] = []
  for (let after: readonly string[] | undefined; ; ) {
    const query = { where, order: { by: ['id'] as never }, limit: PAGE }
    const rows = (await store.find(table, after ? { ...query, after } : query)) as readonly Row<T>[]
    found.push(...rows)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return found
    after = [last.id]
  }
}
