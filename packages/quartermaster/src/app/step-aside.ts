import type { Clock } from '../core/kernel/index.ts'

export interface StepAsideDeps {
  readonly clock: Clock
  /** How many calls run now. */
  running(): number
  /** Stops everything, calls included. */
  leave(): void
}

/** An `up` on its way out lets the calls that run end for this long; what takes longer is cut short. */
export const CALLS_END_MS = 10_000
const LOOK_EVERY_MS = 50

/** Makes way for another: leaves as soon as no call runs, and after a while in any case. Asked again, it is on its way. */
export function createStepAside({ clock, running, leave }: StepAsideDeps): () => void {
  let until: number | undefined

  function look(): void {
    if (until === undefined || running() === 0 || clock.now() >= until) return leave()
    clock.after(LOOK_EVERY_MS, look)
  }

  return () => {
    if (until !== undefined) return
    until = clock.now() + CALLS_END_MS
    look()
  }
}
