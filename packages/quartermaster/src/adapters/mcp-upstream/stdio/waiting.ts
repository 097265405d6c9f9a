import { pause } from '../pausing.ts'

/**
 * Waits, but no longer than until something happens. Processes are not ours to hurry: their time is the machine's, also
 * where everything else has a clock of its own. And it keeps us alive, so that nothing is left half ended.
 */
export function wait(ms: number, until?: Promise<unknown>): Promise<void> {
  return pause(ms, { clock: MACHINE, until })
}

const MACHINE = {
  after(ms: number, task: () => void) {
    const timer = setTimeout(task, ms)
    return () => clearTimeout(timer)
  },
}
