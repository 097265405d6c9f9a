import { AppError } from '../../contracts/index.ts'
import type { NewsListener } from '../store/index.ts'

/** Those who wait for something to happen in the log or inbox of a workspace. */
export interface Watchers extends Required<NewsListener> {
  /** Has `wake` called whenever something may have happened there. Throws `RATE_LIMITED` when too many wait already. */
  watch(workspaceId: string, wake: () => void): () => void
  /** Something has happened in these. */
  tell(workspaceIds: readonly string[]): void
  /** How often something may have happened there while somebody was watching; it begins anew when nobody is. */
  told(workspaceId: string): number
  count(): number
  /** Everybody is woken, and finds that it is over. */
  stop(): void
  isStopped(): boolean
}

interface Watched {
  readonly wakes: Set<() => void>
  told: number
}

/** An agent has a few clients, and each waits once or twice. */
export const MOST_READERS = 64

export function createWatchers({ most = MOST_READERS }: { readonly most?: number } = {}): Watchers {
  const waiting = new Map<string, Watched>()
  let isOver = false

  function tell(workspaceIds: Iterable<string>): void {
    for (const id of workspaceIds) {
      const watched = waiting.get(id)
      if (!watched) continue
      watched.told++
      for (const wake of [...watched.wakes]) wake()
    }
  }

  const tellAll = () => tell([...waiting.keys()])

  function leave(workspaceId: string, wake: () => void): void {
    const wakes = waiting.get(workspaceId)?.wakes
    wakes?.delete(wake)
    if (wakes?.size === 0) waiting.delete(workspaceId)
  }

  return {
    watch(workspaceId, wake) {
      const watched: Watched = waiting.get(workspaceId) ?? { wakes: new Set(), told: 0 }
      if (watched.wakes.size >= most) throw tooMany(most)
      watched.wakes.add(wake)
      waiting.set(workspaceId, watched)
      return () => leave(workspaceId, wake)
    },
    tell,
    changed(rows) {
      for (const { table, ids } of rows) {
        if (table !== 'activity' && table !== 'inbox') continue
        if (ids === 'any') tellAll()
        else tell(ids)
      }
    },
    // Whoever waits has to look by itself from now on, or may have missed something.
    lost: tellAll,
    back: tellAll,
    told: workspaceId => waiting.get(workspaceId)?.told ?? 0,
    count: () => [...waiting.values()].reduce((sum, { wakes }) => sum + wakes.size, 0),
    stop() {
      isOver = true
      tellAll()
    },
    isStopped: () => isOver,
  }
}

function tooMany(most: number): AppError {
  const message = `${most} readers wait for this workspace already. Wait for one to end.`
  return new AppError('RATE_LIMITED', message, { details: { limit: most } })
}
