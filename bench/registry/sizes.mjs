// @ts-check

/** What is measured by default. */
export const FULL = {
  build: { capabilities: 200, toolsEach: 50, probeTimeoutMs: 2_000 },
  examples: { capabilities: 20, toolsEach: 50, probeTimeoutMs: 500 },
  view: { capabilities: 50, toolsEach: 10, fewAgents: 10, manyAgents: 1_000, changes: 150 },
  reload: { files: 1_000, repeats: 5 },
  recheck: { tools: 500, callers: 50, repeats: 100 },
  call: { samples: 20_000, inFlight: 64, leakCalls: 100_000 },
  find: { tools: 10_000, questions: 300 },
}

/** Just enough to see that every part works; its numbers mean nothing. @type {typeof FULL} */
export const QUICK = {
  build: { capabilities: 4, toolsEach: 5, probeTimeoutMs: 50 },
  examples: { capabilities: 2, toolsEach: 5, probeTimeoutMs: 50 },
  view: { capabilities: 3, toolsEach: 2, fewAgents: 2, manyAgents: 5, changes: 3 },
  reload: { files: 5, repeats: 1 },
  recheck: { tools: 5, callers: 5, repeats: 2 },
  call: { samples: 50, inFlight: 4, leakCalls: 100 },
  find: { tools: 50, questions: 5 },
}
