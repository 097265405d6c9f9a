// @ts-check

/** What is measured by default. */
export const FULL = {
  start: { repeats: 5, calls: 1_000, idleMs: 30_000 },
  call: { inFlight: [1, 16, 64], warmUp: 3_000, rounds: 5, calls: 1_500 },
  direct: { inFlight: [1, 16, 64], warmUp: 3_000, rounds: 5, calls: 1_500 },
  legacy: { inFlight: [1, 16, 64], warmUp: 3_000, rounds: 5, calls: 1_000 },
  progress: { inFlight: [1, 16], warmUp: 1_500, rounds: 5, calls: 500 },
  list: { inFlight: [1, 16], warmUp: 200, rounds: 5, calls: 100 },
}

/** Just enough to see that every part works; its numbers mean nothing. @type {typeof FULL} */
export const QUICK = {
  start: { repeats: 1, calls: 10, idleMs: 0 },
  call: { inFlight: [1, 4], warmUp: 5, rounds: 2, calls: 10 },
  direct: { inFlight: [4], warmUp: 5, rounds: 2, calls: 10 },
  legacy: { inFlight: [4], warmUp: 5, rounds: 2, calls: 10 },
  progress: { inFlight: [2], warmUp: 5, rounds: 2, calls: 10 },
  list: { inFlight: [2], warmUp: 2, rounds: 1, calls: 4 },
}
