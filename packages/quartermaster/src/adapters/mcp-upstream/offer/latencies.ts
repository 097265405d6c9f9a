/** How long the last calls took. */
export interface Latencies {
  add(ms: number): void
  /** Nothing before the first call. */
  summary(): { calls: number; p50Ms: number; p99Ms: number } | undefined
}

/** Enough for a p99, and a few kilobytes. */
const KEPT = 512

export function createLatencies(): Latencies {
  const last = new Float64Array(KEPT)
  let calls = 0
  return {
    add(ms) {
      last[calls++ % KEPT] = ms
    },
    summary() {
      if (calls === 0) return undefined
      const sorted = last.slice(0, Math.min(calls, KEPT)).sort()
      const at = (part: number) => round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0)
      return { calls, p50Ms: at(0.5), p99Ms: at(0.99) }
    },
  }
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100
}
