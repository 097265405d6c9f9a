import type { Cancel, Clock } from '../../../core/kernel/index.ts'

/** How long addresses are left alone that a server does not take for now: ever longer where it goes on like that. */
export interface Rest {
  /** From now on, unless they rest already. */
  begin(): void
  /** The next one is a short one. */
  anew(): void
  stop(): void
}

const REST_MS = { first: 60_000, longest: 30 * 60_000 }

export function createRest(clock: Clock, over: () => void): Rest {
  let restMs = REST_MS.first
  let cancel: Cancel | undefined

  function end(): void {
    cancel = undefined
    over()
  }

  return {
    begin() {
      if (cancel) return
      cancel = clock.after(restMs, end)
      restMs = Math.min(2 * restMs, REST_MS.longest)
    },
    anew: () => void (restMs = REST_MS.first),
    stop: () => cancel?.(),
  }
}
