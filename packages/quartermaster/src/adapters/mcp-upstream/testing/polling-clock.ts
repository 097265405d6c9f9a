import type { Clock } from '../../../core/kernel/index.ts'
import { createSystemClock } from '../../system/index.ts'

interface LookingClock extends Clock {
  /** Resolves when a look has been taken that was begun after this. */
  looked(): Promise<void>
}

/** By this clock a process manager looks again and again at what its children have started; it plans the next look after each. */
export function createLookingClock(): LookingClock {
  const clock = createSystemClock()
  let onPlan: (() => void) | undefined
  const planned = () =>
    new Promise<void>(resolve => {
      onPlan = resolve
    })

  return {
    ...clock,
    after(_ms, task) {
      onPlan?.()
      return clock.after(1, task)
    },
    async looked() {
      // The first may be planned by a look that is under way.
      await planned()
      await planned()
    },
  }
}
