/** Runs tasks, at most so many at a time, in the order they came. */
export type Limit = <T>(task: () => Promise<T>) => Promise<T>

export function createLimit(slots: number): Limit {
  const waiting: (() => void)[] = []
  let free = slots
  return async task => {
    if (free > 0) free--
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await task()
    } finally {
      // A place is handed on rather than given back, so that nobody who comes meanwhile gets it first.
      const next = waiting.shift()
      if (next) next()
      else free++
    }
  }
}
