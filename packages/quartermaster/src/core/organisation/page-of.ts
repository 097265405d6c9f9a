import { AppError, type WorkspaceRow } from '../../contracts/index.ts'

const PAGE = 100

/** The page that begins behind the row whose id the cursor is. */
export function pageOf(
  rows: readonly WorkspaceRow[],
  { limit = PAGE, cursor }: { limit?: number | undefined; cursor?: string | undefined },
): { items: readonly WorkspaceRow[]; nextCursor: string | null } {
  const before = cursor === undefined ? -1 : rows.findIndex(({ id }) => id === cursor)
  if (cursor !== undefined && before < 0)
    throw new AppError('CURSOR_GONE', 'What this cursor points at is not in the list any more. Begin again without it.')
  const end = before + 1 + limit
  const items = rows.slice(before + 1, end)
  return { items, nextCursor: end < rows.length ? (items.at(-1)?.id ?? null) : null }
}
