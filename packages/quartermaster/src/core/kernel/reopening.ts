/** How a stream that ends again and again is opened again. */
export interface ReopeningLimits {
  readonly firstMs: number
  readonly longestMs: number
}

/** What was open for as long as this has worked; what ended sooner is tried ever more rarely, as if it had never opened. */
const WORKED_MS = 1_000

/** How long to wait before it is opened once more, by how often it has ended soon after it was begun. */
export function reopening({ firstMs, longestMs }: ReopeningLimits): (lastedMs: number) => number {
  let tries = 0
  return lastedMs => {
    if (lastedMs > WORKED_MS) tries = 0
    return Math.min(firstMs * 2 ** tries++, longestMs)
  }
}
