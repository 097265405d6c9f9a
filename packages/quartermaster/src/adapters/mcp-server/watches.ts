import { messageOf, type Settings } from '../../contracts/index.ts'
import type { ResourceGrant, Seat } from '../../core/agents/index.ts'
import { type Cancel, type Clock, callerKey, type Log } from '../../core/kernel/index.ts'

/** One client's wish to hear of an address. */
export interface Watching {
  readonly seat: Seat
  readonly grant: ResourceGrant
  readonly uri: string
  /** Told once of each change, however often it was added. */
  readonly onUpdated: (uri: string) => void
}

/** The addresses whose resources tell when they change. Each is watched once for an agent, however many clients do. */
export interface Watches {
  /** Throws nothing: what is beyond the limit, or has nothing to tell, is not watched. Returns how to stop. */
  add(watching: Watching): Cancel
  count(): number
}

export interface WatchesDeps {
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  readonly settings: Pick<Settings, 'announceIntervalMs'>
}

/** As many as all clients together may watch; each is a subscription at somebody's server. */
export const MOST_WATCHED = 10_000

interface Watched {
  /** Who hears of it, and how often they asked to. */
  readonly listeners: Map<Watching['onUpdated'], number>
  stop: Cancel
  quietUntil: number
  cancelTimer: Cancel | undefined
}

export function createWatches({ clock, log, settings }: WatchesDeps): Watches {
  const watched = new Map<string, Watched>()

  /** The first at once, then at most once per interval: a server that changes a file a thousand times a second is one. */
  function tell(one: Watched, uri: string): void {
    const now = clock.now()
    if (one.cancelTimer || one.listeners.size === 0) return
    if (now < one.quietUntil) {
      one.cancelTimer = clock.after(one.quietUntil - now, () => {
        one.cancelTimer = undefined
        tell(one, uri)
      })
      return
    }
    one.quietUntil = now + settings.announceIntervalMs
    for (const listener of [...one.listeners.keys()]) listener(uri)
  }

  function begin({ seat, grant: { resource, config }, uri }: Watching): Watched {
    const one: Watched = { listeners: new Map(), stop: () => {}, quietUntil: 0, cancelTimer: undefined }
    try {
      one.stop = resource.watch?.(uri, () => tell(one, uri), { caller: seat.caller, config }) ?? one.stop
    } catch (error) {
      log.warn('a resource cannot be watched', { resource: resource.key, error: messageOf(error) })
    }
    return one
  }

  function end(key: string, one: Watched): void {
    watched.delete(key)
    one.cancelTimer?.()
    try {
      one.stop()
    } catch (error) {
      log.warn('a resource could not be let go', { error: messageOf(error) })
    }
  }

  return {
    count: () => watched.size,
    add(watching) {
      const key = keyOf(watching)
      const known = watched.get(key)
      if (!watching.grant.resource.watch || (!known && watched.size >= MOST_WATCHED)) return () => {}
      const one = known ?? begin(watching)
      watched.set(key, one)
      const { onUpdated } = watching
      one.listeners.set(onUpdated, (one.listeners.get(onUpdated) ?? 0) + 1)
      return once(() => {
        const left = (one.listeners.get(onUpdated) ?? 1) - 1
        if (left > 0) one.listeners.set(onUpdated, left)
        else one.listeners.delete(onUpdated)
        if (one.listeners.size === 0) end(key, one)
      })
    },
  }
}

/** A resource that was changed is another, and watched anew. */
function keyOf({ seat, grant: { resource }, uri }: Watching): string {
  return [callerKey(seat.caller), resource.hash, uri].join('\n')
}

function once(work: () => void): Cancel {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    work()
  }
}
