// @ts-check

/** What is measured by default. */
export const FULL = {
  start: { repeats: 20 },
  commit: { singles: 3_000, callers: 32, grouped: 40_000 },
  read: { rows: 10_000, samples: 5_000, inFlight: 32 },
}

/** Just enough to see that every part works; its numbers mean nothing. @type {typeof FULL} */
export const QUICK = {
  start: { repeats: 2 },
  commit: { singles: 20, callers: 4, grouped: 100 },
  read: { rows: 200, samples: 50, inFlight: 4 },
}
