// @ts-check

/** What is measured by default. */
export const FULL = {
  call: { inFlight: [1, 16, 64], warmUp: 1_000, rounds: 5, calls: 1_000 },
  http: { inFlight: [1, 16, 64], warmUp: 1_500, rounds: 5, calls: 800 },
  drain: { operations: 10_000, ended: 100_000 },
  killed: { operations: 10_000, kills: 5 },
}

/** Just enough to see that every part works; its numbers mean nothing. @type {typeof FULL} */
export const QUICK = {
  call: { inFlight: [1, 4], warmUp: 5, rounds: 2, calls: 10 },
  http: { inFlight: [1, 4], warmUp: 5, rounds: 2, calls: 10 },
  drain: { operations: 100, ended: 300 },
  killed: { operations: 300, kills: 1 },
}
