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

/** How long looking may hold the event loop at a stretch: there may be thousands of agents. */
const TURN_MS = 5

export function createAnnouncer(deps: {
  emitter: Emitter
  clock: Clock
  settings: Pick<Settings, 'announceIntervalMs'>
}): Announcer {
  const { emitter, clock, settings } = deps
  const followers = new Set<Follower>()
  let isLooking = false
  let isStale = false

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

  /** Changes come in bursts, so one round of looks is enough for all of them; those during a round get another. */
  function lookSoon(): void {
    isStale = true
    if (!isLooking && followers.size > 0) void lookAtAll()
  }

  async function lookAtAll(): Promise<void> {
    isLooking = true
    while (isStale) {
      isStale = false
      await clock.breathe()
      let turnEnds = clock.now() + TURN_MS
      for (const follower of followers) {
        look(follower)
        if (clock.now() < turnEnds) continue
        await clock.breathe()
        turnEnds = clock.now() + TURN_MS
      }
    }
    isLooking = false
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
