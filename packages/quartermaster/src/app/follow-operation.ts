import { AppError, type ControlOptions, type OperationChange } from '../contracts/index.ts'
import type { Emitter } from '../core/kernel/index.ts'
import type { Operations } from '../core/operations/index.ts'

/** An operation of an organisation. */
export interface WhichOperation {
  readonly organisation: string
  readonly id: string
}

/** Waits for what becomes of an operation after a step that somebody takes with it. */
export interface Follower {
  /** Resolves when the run that the step leads to is over, or when it has ended without one. */
  takeAndFollow(which: WhichOperation, take: () => Promise<unknown>, options?: ControlOptions): Promise<void>
}

export interface FollowerDeps {
  readonly operations: Pick<Operations, 'find'>
  readonly emitter: Pick<Emitter, 'on'>
}

export function createFollower({ operations, emitter }: FollowerDeps): Follower {
  return {
    /** Listens before the step is taken, so that no end is missed, however soon it comes. */
    async takeAndFollow({ organisation, id }, take, { signal } = {}) {
      const { over, release } = endOfRun(id, emitter)
      try {
        await take()
        const { endedAt } = await operations.find(organisation, id)
        if (endedAt === undefined) await untilGone(over, signal)
      } finally {
        release()
      }
    },
  }
}

/** Resolves when a run of this operation is over, or when it is given up without one. */
function endOfRun(id: string, emitter: Pick<Emitter, 'on'>): { over: Promise<void>; release(): void } {
  let release = () => {}
  const over = new Promise<void>(resolve => {
    release = emitter.on('operation.changed', change => {
      if (change.id === id && isOver(change)) resolve()
    })
  })
  return { over, release }
}

function isOver({ from, to }: OperationChange): boolean {
  return from === 'leased' || (to !== 'leased' && to !== 'queued')
}

/** Whoever goes away does not wait any more. What was asked for goes on: it is on record. */
function untilGone(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const leave = () => reject(new AppError('CANCELLED', 'Nobody waits for the operation any more.'))
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}
