import { MOST_WAITING_MESSAGES, type WorkspaceRow } from '../../contracts/index.ts'

type Owner = Pick<WorkspaceRow, 'id' | 'organisation'>

/** Of so many inboxes it is known; then it is begun anew. */
const MOST_KNOWN = 10_000

/**
 * Whether an inbox takes no more messages. To count thousands of rows for each would cost more than the message, so that it is
 * counted seldom: in between as many are let in as are half of what was free, which leaves the other half to another process
 * that does the same.
 */
export function createFullness(
  count: (owner: Owner) => Promise<number>,
  { most = MOST_WAITING_MESSAGES }: { readonly most?: number } = {},
): (owner: Owner) => Promise<boolean> {
  const free = new Map<string, number>()
  return async owner => {
    const left = free.get(owner.id) ?? 0
    if (left > 0) {
      free.set(owner.id, left - 1)
      return false
    }
    const waiting = await count(owner)
    if (free.size >= MOST_KNOWN) free.clear()
    free.set(owner.id, Math.floor((most - waiting) / 2))
    return waiting >= most
  }
}
