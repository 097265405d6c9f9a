import type { Settings } from '../../contracts/index.ts'
import type { Cancel, Clock, Emitter } from '../kernel/index.ts'
import type { Seat } from './seat.ts'

/** Tells those who follow a view that it changed: the first time at once, then at most once per interval. */
export interface Announcer {
  follow(seat: Seat, listener: () => void): Cancel
  stop(): void
}

interface Follower {
  readonly seat: Seat
  readonly listener: () => void
  told: string
  quietUntil: number
  cancel: Cancel | undefined
}

export function createAnnouncer(deps: {
  emitter: Emitter
  clock: Clock
  settings: Pick<Settings, 'announceIntervalMs'>
}): Announcer {
  const { emitter, clock, settings } = deps
  const followers = new Set<Follower>()
  let isLooking = false

  function look(follower: Follower): void {
    follower.cancel?.()
    follower.cancel = undefined
    const { version } = follower.seat.view()
    if (version === follower.told) return
    const now = clock.now()
    if (now < follower.quietUntil) {
      follower.cancel = clock.after(follower.quietUntil - now, () => look(follower))
      return
    }
    follower.told = version
    follower.quietUntil = now + settings.announceIntervalMs
    follower.listener()
  }

  /** Changes come in bursts, so one look per turn of the event loop is enough for all of them. */
  function lookSoon(): void {
    if (isLooking || followers.size === 0) return
    isLooking = true
    void clock.breathe().then(() => {
      isLooking = false
      for (const follower of followers) look(follower)
    })
  }

  const stops = [
    emitter.on('generation.swapped', lookSoon),
    emitter.on('dependency.changed', lookSoon),
    emitter.on('agents.reloaded', lookSoon),
  ]

  return {
    follow(seat, listener) {
      const follower: Follower = { seat, listener, told: seat.view().version, quietUntil: 0, cancel: undefined }
      followers.add(follower)
      return () => {
        follower.cancel?.()
        followers.delete(follower)
      }
    },
    stop() {
      for (const stop of stops) stop()
      for (const follower of followers) follower.cancel?.()
      followers.clear()
    },
  }
}
