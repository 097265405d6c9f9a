/** Says that nobody waits any more; the promise itself may still settle. */
export class GivenUp extends Error {}

export interface Patience {
  /** How long to wait; for ever when absent. */
  ms?: number
  /** Resolves when waiting is over whatever the time. */
  aborted: Promise<void>
}

/** A promise's outcome, or `GivenUp` when patience ends first. A late rejection is then nobody's. */
export async function settled<T>(promise: Promise<T>, { ms, aborted }: Patience): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new GivenUp())
    void aborted.then(giveUp)
    // This timer holds the process: while only a module is awaited nothing else does, and Node would leave without a word.
    if (ms !== undefined) timer = setTimeout(giveUp, ms)
  })
  promise.catch(() => {})
  over.catch(() => {})
  try {
    return await Promise.race([promise, over])
  } finally {
    clearTimeout(timer)
  }
}
