import type { CancelSignal } from '../../../core/kernel/index.ts'

/**
 * The way of requests that were at work whenever their connection broke. One of them may be what breaks it, so the first is sent
 * alone. With each that is answered twice as many are at work at a time: most of them only happened to be there.
 */
export interface CarefulLane {
  /** Answers when it is its turn; nothing if it was given up before. */
  enter(signal: CancelSignal): Promise<Turn | undefined>
}

export interface Turn {
  /** Whether no other one was on the lane at any time of it. */
  isAlone(): boolean
  /** Its turn is over; what is told of that later counts for nothing. */
  end(how: TurnEnd): void
}

/** Whether it was answered, or the connection broke. What came to neither says nothing about those that wait. */
export type TurnEnd = 'answered' | 'broken' | 'neither'

export function createCarefulLane(): CarefulLane {
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
