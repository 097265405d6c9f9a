import { messageOf } from '../../contracts/index.ts'
import type { FollowingClock, Log } from '../kernel/index.ts'

/** The time that all processes on a store go by, which is the store's own: what one writes as a time the others judge. */
export interface SharedTime {
  /** Sets the clock of this process by it. Whoever is about to call a lease of another one over asks for this first. */
  align(): Promise<void>
}

export interface SharedTimeDeps {
  readonly clock: FollowingClock
  readonly log: Log
  /** What the store says now. */
  time(): Promise<number>
}

/** Less is the time that answers take, and matters to no lease. */
const TOLERATED_MS = 100
/** More is nothing that time servers leave, and worth a word. */
const WORTH_A_WORD_MS = 2_000

export function createSharedTime({ clock, log, time }: SharedTimeDeps): SharedTime {
  async function align(): Promise<void> {
    const askedAt = clock.now()
    const said = await time()
    const now = clock.now()
    // It was said at some moment in between.
    const doubtMs = (now - askedAt) / 2
    const wrongMs = now - (said + doubtMs)
    const isWrong = Math.abs(wrongMs) > TOLERATED_MS + doubtMs
    clock.setTo(isWrong ? now - wrongMs : now)
    if (isWrong && Math.abs(wrongMs) > WORTH_A_WORD_MS)
      log.warn(OTHER_TIME, { aheadSeconds: Math.round(wrongMs / 1000) })
  }

  clock.onDoubt(() => {
    align().catch(error => log.warn('what time it is could not be asked', { error: messageOf(error) }))
  })
  return { align }
}

const OTHER_TIME =
  "This machine's clock and the database's do not agree, and the database's counts: set this machine's, as NTP does"
