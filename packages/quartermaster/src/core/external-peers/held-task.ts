import type { OutgoingTaskRow } from '../../contracts/index.ts'
import { type Cancel, type Cancellation, type CancelSignal, type Clock, createCancellation } from '../kernel/index.ts'
import type { Change, Outbox } from './outbox.ts'

/** A task that this process looks after. */
export interface HeldTask {
  readonly row: OutgoingTaskRow
  /** Changes what is on record. Throws `LeaseLost` when another process has it by now. */
  save(set: Change): Promise<void>
  /** Given when it has to be let go. */
  readonly gone: CancelSignal
  /** Given when something has happened here that counts for it, or when it has to be let go. A new one for each step. */
  stirred(): CancelSignal
  stir(): void
  /** Waits, but not longer than until it is stirred. */
  rest(ms: number): Promise<void>
  /** Nothing of it is kept up any more. */
  end(): void
  letGo(): void
}

/** Another process looks after it. */
export class LeaseLost extends Error {}

export interface HeldTaskDeps {
  readonly outbox: Outbox
  readonly clock: Clock
  readonly leaseMs: number
}

/** Keeps a task that was claimed, and says so from time to time. */
export function holdTask(claimed: OutgoingTaskRow, { outbox, clock, leaseMs }: HeldTaskDeps): HeldTask {
  let row = claimed
  let isStirred = false
  let isEnded = false
  let stirring: Cancellation = createCancellation()
  let cancelRenewal: Cancel = () => {}
  const going = createCancellation()
  going.signal.addEventListener('abort', () => stirring.cancel('gone'))
  // One after the other: each names the version that the one before has made.
  let saving: Promise<void> = Promise.resolve()

  function save(set: Change): Promise<void> {
    const turn = saving.then(async () => {
      const saved = await outbox.save(row, set)
      if (!saved) throw new LeaseLost('Another process looks after it.')
      row = saved
    })
    saving = turn.catch(() => {
      // Whoever saved is told.
    })
    return turn
  }

  function renewLater(): void {
    if (isEnded) return
    cancelRenewal = clock.after(leaseMs / 3, () => {
      save({}).then(renewLater, error => going.cancel(error))
    })
  }
  renewLater()

  return {
    get row() {
      return row
    },
    save,
    gone: going.signal,
    stirred() {
      stirring = createCancellation()
      // What has happened since the step before is not missed.
      if (isStirred || going.signal.aborted) stirring.cancel('stirred')
      isStirred = false
      return stirring.signal
    },
    stir() {
      isStirred = true
      stirring.cancel('stirred')
    },
    rest: ms =>
      new Promise(resolve => {
        if (isStirred || going.signal.aborted) return resolve()
        const cancel = clock.after(ms, resolve)
        stirring = createCancellation()
        stirring.signal.addEventListener('abort', () => {
          cancel()
          resolve()
        })
      }),
    end() {
      isEnded = true
      cancelRenewal()
    },
    letGo: () => going.cancel('stopping'),
  }
}
