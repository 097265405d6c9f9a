// @ts-check

/** What is measured by default. */
export const FULL = {
  stdio: { inFlight: [1, 16, 64], warmUp: 15_000, rounds: 5, calls: 1_000, withinMs: 1_000 },
  sessions: { inFlight: [1, 16, 64], warmUp: 10_000, rounds: 4, calls: 1_000, withinMs: 1_000 },
  http: { inFlight: [1, 16, 64], warmUp: 15_000, rounds: 5, calls: 1_000, withinMs: 1_000 },
  everything: { inFlight: [1, 16, 64], warmUp: 1_000, rounds: 4, calls: 500, withinMs: 1_000 },
  wide: { many: 1_000, few: 10, inFlight: [1, 16], warmUp: 10_000, rounds: 5, calls: 1_000, withinMs: 1_000 },
  start: { calls: 1_000, idleMs: 30_000 },
  broken: { broken: 48, repeats: 5 },
  killed: { everyMs: 50, kills: 5, restMs: 6_000, hastyMs: 3_000, patienceMs: 10_000 },
  repaired: { brokenMs: [3_000, 15_000], patienceMs: 40_000, everyMs: 200 },
  'crash-loop': { everyMs: 50, forMs: 30_000, quietMs: 10_000 },
  hang: { everyMs: 50, settleMs: 3_000, patienceMs: 50_000 },
}

/** Just enough to see that every part works; its numbers mean nothing. @type {typeof FULL} */
export const QUICK = {
  stdio: { inFlight: [1, 4], warmUp: 5, rounds: 2, calls: 10, withinMs: 1_000 },
  sessions: { inFlight: [4], warmUp: 5, rounds: 2, calls: 10, withinMs: 1_000 },
  http: { inFlight: [1, 4], warmUp: 5, rounds: 2, calls: 10, withinMs: 1_000 },
  everything: { inFlight: [2], warmUp: 5, rounds: 2, calls: 10, withinMs: 1_000 },
  wide: { many: 20, few: 2, inFlight: [1], warmUp: 5, rounds: 2, calls: 10, withinMs: 1_000 },
  start: { calls: 20, idleMs: 0 },
  broken: { broken: 4, repeats: 1 },
  killed: { everyMs: 50, kills: 1, restMs: 500, hastyMs: 500, patienceMs: 20_000 },
  repaired: { brokenMs: [500], patienceMs: 40_000, everyMs: 200 },
  'crash-loop': { everyMs: 50, forMs: 1_000, quietMs: 500 },
  hang: { everyMs: 50, settleMs: 500, patienceMs: 2_000 },
}
