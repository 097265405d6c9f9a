import { AppError, isAppError, messageOf } from '../../../contracts/index.ts'
import type { Clock, Log } from '../../kernel/index.ts'
import { isUnkeepable, type Write } from '../../store/index.ts'
import type { StorageAccess } from './operation-storage.ts'

/** Writes what has happened and must not be lost: what does not succeed is tried again until it does. */
export interface DurableWriter {
  /**
   * Resolves when it is written, with whether it was: another process may have been faster. Rejects with `STORE_UNAVAILABLE`
   * when that takes too long to wait for; it is retried all the same. What no store could write is not retried: then it rejects
   * at once with the store's objection as the cause. The writes must be guarded such that a second time does nothing.
   */
  write(writes: readonly Write[], what: string, options?: WriteOptions): Promise<boolean>
  /** Tries what is left one last time. */
  stop(): Promise<void>
}

interface WriteOptions {
  /** Told when it takes too long to wait for, with what comes of it in the end. */
  readonly onLate?: (writing: Promise<boolean>) => void
}

interface DurableWriterDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
}

/** How long a caller whose tool has run waits for its end to be written. */
const PATIENCE_MS = 5_000
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 30_000
/** More would fill the memory while the disk is full. */
const MOST_OWED = 1_000

export function createDurableWriter({ storage, clock, log }: DurableWriterDeps): DurableWriter {
  const owed = new Set<Promise<boolean>>()
  const wakers = new Set<() => void>()
  let isStopping = false

  async function tryUntilDone(writes: readonly Write[], what: string): Promise<boolean> {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const isLast = isStopping || owed.size > MOST_OWED
      try {
        return await commit(writes, what)
      } catch (error) {
        if (isLast || !canPass(error)) throw unwritten(what, error)
        log.warn('the store could not write and is asked again', { what, error: messageOf(error) })
      }
      await sleep(pause)
    }
  }

  async function commit(writes: readonly Write[], what: string): Promise<boolean> {
    const { store } = await storage.open()
    const outcome = await store.commit(writes)
    // A commit with an unknown outcome was written after all; or another process has ended it, and the first end wins.
    if (!outcome.committed) log.debug('was written before', { what, guard: outcome.failed.guard })
    return outcome.committed
  }

  function sleep(ms: number): Promise<void> {
    return new Promise(resolve => {
      const wake = () => {
        cancel()
        wakers.delete(wake)
        resolve()
      }
      const cancel = clock.after(ms, wake)
      wakers.add(wake)
      if (isStopping) wake()
    })
  }

  async function inTime<T>(work: Promise<T>, what: string, onLate: () => void): Promise<T> {
    let cancel = () => {}
    const enough = new Promise<never>((_, reject) => {
      cancel = clock.after(PATIENCE_MS, () => {
        onLate()
        reject(unwritten(what, undefined))
      })
    })
    try {
      return await Promise.race([work, enough])
    } finally {
      cancel()
    }
  }

  return {
    write(writes, what, { onLate } = {}) {
      const work = tryUntilDone(writes, what)
      owed.add(work)
      const settled = () => void owed.delete(work)
      // The caller may have stopped listening; the loss is told here.
      work.then(settled, error => {
        settled()
        log.error('something that happened could not be written', { what, error: messageOf(error) })
      })
      return inTime(work, what, () => onLate?.(work))
    },
    async stop() {
      isStopping = true
      for (const wake of wakers) wake()
      // What is late may owe a word about that.
      while (owed.size > 0) await Promise.allSettled(owed)
    },
  }
}

/** The store's troubles pass, unless it is closed. What it objects to in what is to be written stays. */
function canPass(error: unknown): boolean {
  return isAppError(error) && error.code !== 'STOPPING' && !isUnkeepable(error)
}

function unwritten(what: string, cause: unknown): AppError {
  const reason = cause === undefined ? 'the store does not answer' : messageOf(cause)
  return new AppError('STORE_UNAVAILABLE', `The store could not write ${what}: ${reason}`, { cause })
}
