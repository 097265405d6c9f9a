import type { Look, WaitDeps } from './waiting.ts'

/** What a look into an inbox has found, and for whom else there may be something now. */
export type Glance<T> = Look<T> & {
  /** Everybody, or only these readers: all else that is there is in their hands. */
  readonly others: 'everybody' | ReadonlySet<string>
  /** When what is in somebody's hands is for everybody again, if nothing happens before. */
  readonly again?: number | undefined
}

/** Whose look it is, and into which inbox. */
export interface Looker {
  readonly workspaceId: string
  readonly reader: string
}

/** The looks of those who wait for one inbox. */
export interface Looks {
  /** Looks as often as it is asked to, one after the other with all others, and only where it can find something. */
  inTurn<T>(who: Looker, look: () => Promise<Glance<T>>): () => Promise<Look<T>>
}

/** What the last look into an inbox has shown. */
interface Shown extends Omit<Glance<unknown>, 'found'> {
  /** How often something had happened there when it began. */
  readonly told: number
}

/** Of so many inboxes it is known; then of those for which nobody looks it is forgotten, which costs a look. */
const MOST_KNOWN = 1_000

interface Queue {
  end: Promise<unknown>
  length: number
  shown?: Shown
}

/**
 * Everybody who waits for an inbox hears of each message, and one of them gets it. If all looked, a message would cost as many looks
 * as there are readers, and all but one would find it taken at the last step and begin anew. So they look one after the other,
 * and whoever comes behind a look that has left nothing for it waits on without one.
 */
export function createLooks({ clock, watchers, news }: WaitDeps): Looks {
  const queues = new Map<string, Queue>()

  /** Whether there is nothing for this reader, by a look that began after all that has happened. */
  function isNothing({ workspaceId, reader }: Looker, shown: Shown | undefined): shown is Shown {
    if (!shown || shown.told !== watchers.told(workspaceId) || news?.isHeard() === false) return false
    if (shown.others === 'everybody' || shown.others.has(reader)) return false
    return shown.again === undefined || shown.again > clock.now()
  }

  async function take<T>(queue: Queue, who: Looker, look: () => Promise<Glance<T>>, mayRest: boolean) {
    if (mayRest && isNothing(who, queue.shown)) return { again: queue.shown.again }
    const told = watchers.told(who.workspaceId)
    const glance = await look()
    queue.shown = { told, others: glance.others, again: glance.again }
    return glance
  }

  function queueOf(workspaceId: string): Queue {
    const known = queues.get(workspaceId)
    if (known) return known
    if (queues.size >= MOST_KNOWN) for (const [id, { length }] of queues) if (length === 0) queues.delete(id)
    const queue = { end: Promise.resolve(), length: 0 }
    queues.set(workspaceId, queue)
    return queue
  }

  async function inQueue<T>(queue: Queue, work: () => Promise<T>): Promise<T> {
    queue.length++
    const turn = queue.end.then(work)
    // Whoever is behind looks by itself, whatever became of this one.
    queue.end = turn.catch(() => {})
    try {
      return await turn
    } finally {
      queue.length--
    }
  }

  return {
    inTurn(who, look) {
      // The first look is for what was there before anybody waited.
      let isFirst = true
      return () => {
        const mayRest = !isFirst
        isFirst = false
        const queue = queueOf(who.workspaceId)
        return inQueue(queue, () => take(queue, who, look, mayRest))
      }
    },
  }
}
