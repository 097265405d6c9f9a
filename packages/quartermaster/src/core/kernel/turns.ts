import type { Clock } from './ports.ts'

/** Work that can be interrupted between its steps. */
export type Steps<T> = Generator<void, T>

/** How long others may have to wait. */
const TURN_MS = 5

/** Does work that may take long, and lets everybody else have their turn meanwhile. */
export async function inTurns<T>(steps: Steps<T>, clock: Pick<Clock, 'now' | 'breathe'>): Promise<T> {
  let turnEnds = clock.now() + TURN_MS
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    if (clock.now() < turnEnds) continue
    await clock.breathe()
    turnEnds = clock.now() + TURN_MS
  }
}

/** Does it without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
