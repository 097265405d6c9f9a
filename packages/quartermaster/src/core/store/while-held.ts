import type { Clock } from '../kernel/index.ts'
import type { Lease } from './lease.ts'

export interface Holding {
  readonly clock: Clock
  /** How long to wait for whoever has it now. */
  readonly withinMs: number
  /** What is thrown when that takes longer. */
  late(): Error
}

/** Does something that no other process on the store does at the same time, and gives the lease back. */
export async function whileHeld<T>(lease: Lease, holding: Holding, work: () => Promise<T>): Promise<T> {
  try {
    await held(lease, holding)
    return await work()
  } finally {
    await lease.release()
  }
}

function held(lease: Lease, { clock, withinMs, late }: Holding): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      cancel()
      stop()
      settle()
    }
    const look = () => lease.standing().kind === 'held' && end(resolve)
    const cancel = clock.after(withinMs, () => end(() => reject(late())))
    const stop = lease.onChange(look)
    void lease.want().then(look)
  })
}
