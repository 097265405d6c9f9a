import type { Clock, Random } from '../../core/kernel/index.ts'

/** Waits before the next try: longer each time, and never two bridges at the same moment. */
export type Pause = (tries: number) => Promise<void>

const FIRST_MS = 50
const LONGEST_MS = 1_000

/** A pause ends early when the signal aborts. */
export function createPause(deps: { clock: Clock; random: Random; signal: AbortSignal }): Pause {
  const { clock, random, signal } = deps
  return tries =>
    new Promise(resolve => {
      const ms = Math.min(FIRST_MS * 2 ** tries, LONGEST_MS) * (0.5 + random())
      const cancel = clock.after(ms, go)
      function go() {
        cancel()
        signal.removeEventListener('abort', go)
        resolve()
      }
      if (signal.aborted) go()
      else signal.addEventListener('abort', go, { once: true })
    })
}
