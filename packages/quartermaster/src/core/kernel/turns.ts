import type { Clock } from './ports.ts'

/** Work that can be interrupted between its steps; what it yields on the way is of no interest. */
export type Steps<T> = Generator<unknown, T>

/** How long others may have to wait. */
const TURN_MS = 5

/** Turns of the event loop, for work that may take long. */
export interface Turns {
  /** Does the work, and lets everybody else have their turn meanwhile. */
  take<T>(steps: Steps<T>): Promise<T>
}

export function createTurns(clock: Pick<Clock, 'now' | 'breathe'>): Turns {
  let ends = clock.now() + TURN_MS
  return {
    async take(steps) {
      for (;;) {
        const step = steps.next()
        if (step.done) return step.value
        if (clock.now() < ends) continue
        await clock.breathe()
        ends = clock.now() + TURN_MS
      }
    },
  }
}

/** One piece of work in turns of its own. */
export function inTurns<T>(steps: Steps<T>, clock: Pick<Clock, 'now' | 'breathe'>): Promise<T> {
  return createTurns(clock).take(steps)
}

/** Does it without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
