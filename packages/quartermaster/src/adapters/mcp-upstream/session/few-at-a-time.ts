/** Does work a few at a time, in the order in which it comes: at once where there is a place. */
export type FewAtATime = <T>(work: () => Promise<T>) => Promise<T>

export function createFewAtATime(most: number): FewAtATime {
  const waiting: (() => void)[] = []
  let taken = 0

  /** A place is handed on rather than given back, so that nobody who comes meanwhile gets it first. */
  function leave(): void {
    const next = waiting.shift()
    if (next) next()
    else taken--
  }

  return async work => {
    if (taken < most) taken++
    else await new Promise<void>(resolve => void waiting.push(resolve))
    try {
      return await work()
    } finally {
      leave()
    }
  }
}
