import { AppError } from '../../contracts/index.ts'

/** As many as a client can take in at once without harm; most agents have fewer. */
const PAGE_SIZE = 200

/** How long a listing may be used without asking again; a change is announced anyway. */
export const LIST_HINT = { ttlMs: 60_000, cacheScope: 'private' } as const

/**
 * One page of a list. The cursor carries the version of the list it was cut from: pages of two versions put together
 * would be a list that never was.
 */
export function pageOf<T>(
  items: readonly T[],
  version: string,
  cursor: string | undefined,
): { items: readonly T[]; nextCursor?: string } {
  const start = cursor === undefined ? 0 : startOf(cursor, version)
  const end = start + PAGE_SIZE
  const page = items.slice(start, end)
  return end < items.length ? { items: page, nextCursor: `${version}.${end}` } : { items: page }
}

function startOf(cursor: string, version: string): number {
  const match = /^(.+)\.(\d{1,9})$/.exec(cursor)
  if (match?.[1] === version) return Number(match[2])
  throw new AppError('CURSOR_GONE', 'The list has changed since this cursor was given. List from the beginning.')
}
