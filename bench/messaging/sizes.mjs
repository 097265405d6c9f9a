// @ts-check

/** What is measured by default. */
export const FULL = {
  waiting: { warmUp: 30, messages: 200 },
  sending: { senders: [1, 16, 64], warmUp: 2_000, rounds: 3, messages: 500 },
  rows: { total: 100_000, boxes: 12, samples: 100 },
}

/** Just enough to see that every part works; its numbers mean nothing. @type {typeof FULL} */
export const QUICK = {
  waiting: { warmUp: 2, messages: 5 },
  sending: { senders: [1, 4], warmUp: 4, rounds: 1, messages: 8 },
  rows: { total: 1_100, boxes: 1, samples: 5 },
}
