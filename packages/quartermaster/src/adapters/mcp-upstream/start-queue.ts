import { availableParallelism } from 'node:os'
import type { Cancel, Clock } from '../../core/kernel/index.ts'
import type { Upstream } from './upstream.ts'

/** What is started in its turn. */
type Startable = Pick<Upstream, 'announce' | 'start' | 'isStarting' | 'isUnseen' | 'isRemote'>

/**
 * Starts programs a few at a time: each start takes the processor from all others, and from whoever is being answered. Servers by
 * HTTP only take a socket each, and never the turn of a program. What was seen before is used most likely, and comes first.
 */
export interface StartQueue {
  /** Starts it when it is its turn, which may be at once. Before `open` that is the first one alone. */
  add(one: Startable): void
  /** They are not to be started any more. */
  drop(gone: readonly Startable[]): void
  open(): void
  stop(): void
}

export interface StartQueueDeps {
  readonly clock: Clock
  /** How many programs are being started at once. */
  readonly most: number
  /** How many servers by HTTP. */
  readonly mostRemote: number
  /** Tells whenever one of them stands elsewhere. */
  onState(listener: () => void): void
}

/** So many keep a small machine busy: most of them also wait for a disk or a network meanwhile. */
export const LEAST_STARTS = 4
export const MOST_STARTS = Math.max(LEAST_STARTS, availableParallelism())

/** So many sockets that wait are felt by nobody. */
export const MOST_REMOTE_STARTS = 32

/** A program is loaded by then. One that still does not answer waits for something, or hangs, and is in nobody's way. */
export const TURN_MS = 500

export function createStartQueue({ clock, most, mostRemote, onState }: StartQueueDeps): StartQueue {
  const waiting = new Set<Startable>()
  /** Those that are being started, with how to call off the end of their turn. */
  const turns = new Map<Startable, Cancel>()
  let isOpen = false
  // One costs a core that is free anyway, and whoever has only one is not to wait for it longer.
  let isFirstDue = true

  function hasRoom({ isRemote }: Startable): boolean {
    if (!isOpen) return isFirstDue && turns.size === 0
    const alike = [...turns.keys()].filter(one => one.isRemote === isRemote)
    return alike.length < (isRemote ? mostRemote : most)
  }

  function next(): void {
    for (const one of [...waiting].toSorted(seenFirst)) {
      // To begin one may have begun others.
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
    // One that sleeps until it is wanted has not been started.
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
