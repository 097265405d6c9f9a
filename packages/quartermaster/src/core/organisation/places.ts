import type { WorkspaceRow } from '../../contracts/index.ts'
import type { Store } from '../store/index.ts'

/** A place in an organisation, and whether somebody may sit there. */
export type NamedPlace = Pick<WorkspaceRow, 'organisation' | 'workspace' | 'status'>

/** As many as one question to the store may answer. */
const PAGE = 1_000
const COLUMNS = ['id', 'organisation', 'workspace', 'status'] as const

/** The places of every organisation: all of them, or those whose workspaces have these ids. */
export async function placesIn(store: Store, ids?: readonly string[]): Promise<NamedPlace[]> {
  const found: NamedPlace[] = []
  for (let after: readonly string[] | undefined; ; ) {
    const where = ids ? { id: { in: ids } } : {}
    const query = { where, order: { by: ['id'] as const }, columns: COLUMNS, limit: PAGE }
    const rows = await store.find('workspaces', after ? { ...query, after } : query)
    found.push(...rows)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return found
    after = [last.id]
  }
}
