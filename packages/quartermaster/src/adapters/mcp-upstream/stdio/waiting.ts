/**
 * Waits for something, but not longer than this. Processes are not ours to hurry: their time is the machine's, also where
 * everything else has a clock of its own. And it keeps us alive, so that nothing is left half ended.
 */
export function within(ms: number, event: Promise<unknown>): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    void event.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** The same, for what nothing tells of. */
export function pause(ms: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, ms)
  })
}
