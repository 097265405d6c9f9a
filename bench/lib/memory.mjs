// @ts-check

const MB = 1024 * 1024

/** What the operating system has given this process, in MB. */
export const residentMb = () => process.memoryUsage.rss() / MB

/** What is really in use: the heap after everything unreachable is gone, in MB. */
export function heapMb() {
  if (!globalThis.gc) throw new Error('Run this with `node --expose-gc`.')
  // Twice: what a finaliser lets go of in the first round is only collected in the second.
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage().heapUsed / MB
}
