import type { CancelSignal, Clock } from '../../../core/kernel/index.ts'
import { pause } from '../pausing.ts'

/**
 * Where requests are sent one after the other, beside those that go their usual way: whichever of them is at work when the
 * connection breaks once more is the one that breaks it.
 */
export interface LoneLane {
  /** Answers how to leave it, once it is this one's turn; nothing where that did not come in time. */
  enter(options: EnterOptions): Promise<(() => void) | undefined>
}

export interface EnterOptions {
  readonly budgetMs: number
  readonly signal: CancelSignal
}

export function createLoneLane(clock: Pick<Clock, 'after'>): LoneLane {
  let last: Promise<unknown> = Promise.resolve()
  return {
    async enter({ budgetMs, signal }) {
      const before = last
      let isNext = false
      let leave = () => {}
      const left = new Promise<void>(resolve => {
        leave = resolve
      })
      last = before.then(() => left)
      await pause(budgetMs, { clock, signal, until: before.then(() => void (isNext = true)) })
      if (isNext && !signal.aborted) return leave
      leave()
      return undefined
    },
  }
}
