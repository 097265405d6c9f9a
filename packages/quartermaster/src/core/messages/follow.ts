import type { ActivityRow } from '../../contracts/index.ts'
import { activityCursor } from './activity-cursor.ts'
import type { ActivityLog, LogOwner } from './activity-log.ts'
import { type Look, type WaitDeps, waitUntilFound } from './waiting.ts'

/** So many rows are read ahead of whoever follows. */
const PAGE = 20
/** It looks by itself this often even if nothing was heard. */
const LOOK_MS = 60_000

/**
 * Every row of a log behind a place, as they come, until the signal is given or everything ends. Nothing is read before it is
 * wanted, so that a reader who is slow costs a page and no more.
 */
export async function* followLog(
  deps: WaitDeps & { readonly activity: ActivityLog },
  owner: LogOwner,
  { from, signal }: { readonly from: number; readonly signal: AbortSignal },
): AsyncGenerator<ActivityRow> {
  const { activity, watchers } = deps
  const workspaceId = owner.id
  for (let at = from; !signal.aborted && !watchers.isStopped(); ) {
    const rows = await waitUntilFound(
      deps,
      { workspaceId, waitMs: LOOK_MS, signal },
      async (): Promise<Look<readonly ActivityRow[]>> => {
        const since = activityCursor.write({ workspaceId, sequence: at })
        const page = await activity.read(owner, { since, limit: PAGE })
        return page.rows.length > 0 ? { found: page.rows } : {}
      },
    )
    for (const row of rows ?? []) {
      if (signal.aborted) return
      yield row
      at = row.sequence
    }
  }
}
