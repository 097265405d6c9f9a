import type { UpstreamStatus } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'

/** Counts the questions of a server that nobody was asked, because several clients had calls on its connection. */
export interface Crowds {
  add(): void
  summary(): UpstreamStatus['unasked']
}

export function createCrowds(clock: Clock): Crowds {
  let questions = 0
  let lastAt = 0
  return {
    add() {
      questions++
      lastAt = Math.round(clock.now())
    },
    summary: () => (questions === 0 ? undefined : { questions, lastAt }),
  }
}
