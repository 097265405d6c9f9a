import { availableParallelism } from 'node:os'
import type { Cancel, Clock } from '../../core/kernel/index.ts'
import type { Upstream } from './upstream.ts'

type Startable = Pick<Upstream, 'announce' | 'start' | 'isStarting' | 'isUnseen' | 'isRemote'>

/**
 * Starts programs a few at a time: each start takes processor time from the others and from running calls. HTTP
 * servers take only a socket each, and have a limit of their own. Known servers are most likely to be used, and come
 * first.
 */
interface StartQueue {
  /** Starts it when its turn comes, possibly at once. Before `open` only the first one is started. */
  add(one: Startable): void
  drop(gone: readonly Startable[]): void
  open(): void
  stop(): void
}

interface StartQueueDeps {
  readonly clock: Clock
  readonly most: number
  readonly mostRemote: number
  onState(listener: () => void): void
}

/** Enough to keep a small machine busy: most also wait for a disk or a network. */
export const LEAST_STARTS = 4
export const MOST_STARTS = Math.max(LEAST_STARTS, availableParallelism())

export const MOST_REMOTE_STARTS = 32

/** The time to load a program. One that still does not answer waits for something, or hangs, and uses no processor. */
export const TURN_MS = 500

export function createStartQueue({ clock, most, mostRemote, onState }: StartQueueDeps): StartQueue {
  const waiting = new Set<Startable>()
  const turns = new Map<Startable, Cancel>()
  let isOpen = false
  // The first start uses a core that is free anyway, and a user with one server should not wait longer.
  let isFirstDue = true

  function hasRoom({ isRemote }: Startable): boolean {
    if (!isOpen) return isFirstDue && turns.size === 0
    const alike = [...turns.keys()].filter(one => one.isRemote === isRemote)
    return alike.length < (isRemote ? mostRemote : most)
  }

  function next(): void {
    for (const one of [...waiting].toSorted(seenFirst)) {
      if (waiting.has(one) && hasRoom(one)) begin(one)
    }
  }

  function begin(one: Startable): void {
    waiting.delete(one)
    turns.set(
      one,
      clock.after(TURN_MS, () => {
        end(one)
        next()
      }),
    )
    one.start()
    if (one.isStarting()) isFirstDue = false
    else end(one)
  }

  function end(one: Startable): void {
    turns.get(one)?.()
    turns.delete(one)
  }

  function look(): void {
    for (const one of turns.keys()) if (!one.isStarting()) end(one)
    next()
  }

  onState(look)
  return {
    add(one) {
      waiting.add(one)
      next()
      if (waiting.has(one)) one.announce()
    },
    drop(gone) {
      for (const one of gone) {
        waiting.delete(one)
        end(one)
      }
      next()
    },
    open() {
      isOpen = true
      next()
    },
    stop() {
      waiting.clear()
      for (const one of turns.keys()) end(one)
    },
  }
}

const seenFirst = (a: Startable, b: Startable) => Number(a.isUnseen()) - Number(b.isUnseen())
