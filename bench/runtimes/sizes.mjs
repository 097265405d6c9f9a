// @ts-check

/** What is measured by default. */
export const FULL = { call: { warmUp: 500, rounds: 9, calls: 400 } }

/** Just enough to see that every part works; its numbers mean nothing. @type {typeof FULL} */
export const QUICK = { call: { warmUp: 3, rounds: 2, calls: 5 } }
