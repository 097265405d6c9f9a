/**
 * Waits, but no longer than until something happens. Processes are not ours to hurry: their time is the machine's, also
 * where everything else has a clock of its own. And it keeps us alive, so that nothing is left half ended.
 */
export function wait(ms: number, until?: Promise<unknown>): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(end, ms)
    until?.then(end, end)
  })
}
