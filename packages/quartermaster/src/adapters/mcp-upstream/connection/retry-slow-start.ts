import type { CancelSignal } from '../../../core/kernel/index.ts'

/**
 * Retries requests that were in flight when a connection broke, one at a time first, doubling after each success, so
 * that a request that breaks it is isolated. Most of them only happened to be in flight.
 */
export interface SlowStart {
  /** Resolves when it is its turn; with nothing if it was cancelled before. */
  enter(signal: CancelSignal): Promise<Turn | undefined>
}

export interface Turn {
  /** Whether no other request was in here at any time of its turn. */
  isAlone(): boolean
  /** Ends its turn; later results are ignored. */
  end(how: TurnEnd): void
}

/** Whether it was answered, or the connection broke. Neither says nothing about those that wait. */
export type TurnEnd = 'answered' | 'broken' | 'neither'

export function createSlowStart(): SlowStart {
  const waiting = new Set<() => void>()
  const underWay = new Set<{ isAlone: boolean }>()
  let width = 1

  function begin(): Turn {
    const one = { isAlone: underWay.size === 0 }
    for (const other of underWay) other.isAlone = false
    underWay.add(one)
    return {
      isAlone: () => one.isAlone,
      end(how) {
        if (!underWay.delete(one)) return
        if (how === 'broken') width = 1
        if (how === 'answered') width *= 2
        admit()
      },
    }
  }

  function admit(): void {
    for (const go of waiting) if (underWay.size < width) go()
    if (underWay.size === 0) width = 1
  }

  return {
    async enter(signal) {
      if (signal.aborted) return undefined
      if (underWay.size < width) return begin()
      return new Promise(resolve => {
        const leave = () => {
          waiting.delete(go)
          signal.removeEventListener('abort', giveUp)
        }
        const go = () => {
          leave()
          resolve(begin())
        }
        const giveUp = () => {
          leave()
          resolve(undefined)
        }
        waiting.add(go)
        signal.addEventListener('abort', giveUp, { once: true })
      })
    },
  }
}
