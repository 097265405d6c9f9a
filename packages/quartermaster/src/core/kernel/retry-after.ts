/** A call waits for seconds, and one that is tried again for a day: what a server wants beyond that is no time at all. */
export const LONGEST_RETRY_MS = 24 * 3_600_000

/** When a server wants to be asked again: in seconds, or at a date (RFC 9110 §10.2.3). */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const ms = SECONDS.test(header) ? Number(header) * 1_000 : DATE.test(header) ? Date.parse(header) - now : Number.NaN
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_RETRY_MS)
}

const SECONDS = /^\s*\d+\s*$/
/** By the day of the week that it begins with: "-5" is a date, too, to whoever reads dates leniently. */
const DATE = /^\s*(mon|tue|wed|thu|fri|sat|sun)/i
