// @ts-check

/** @typedef {import('node:inspector').Profiler.Profile} Profile */
/** @typedef {import('node:inspector').Runtime.CallFrame} CallFrame */

/**
 * The functions in which a process spent most of its time, by themselves; while it had nothing to do does not count.
 * @param {Profile} profile
 * @param {number} most
 */
export function summarise({ nodes, samples = [], timeDeltas = [] }, most) {
  const labels = new Map(nodes.map(({ id, callFrame }) => [id, labelOf(callFrame)]))
  /** @type {Map<string, number>} */
  const times = new Map()
  for (const [i, id] of samples.entries()) {
    const label = labels.get(id) ?? ''
    // A delta is the time since the sample before, which is the time this one stands for, near enough.
    if (label !== '(idle)') times.set(label, (times.get(label) ?? 0) + (timeDeltas[i] ?? 0))
  }
  const total = [...times.values()].reduce((sum, time) => sum + time, 0)
  const rows = [...times].sort(([, a], [, b]) => b - a).slice(0, most)
  const lines = rows.map(([label, time]) => `${((100 * time) / total).toFixed(1).padStart(5)} %  ${label}`)
  return [`${(total / 1000).toFixed(0)} ms not idle, by the function that ran:`, ...lines].join('\n')
}

/** @param {CallFrame} frame */
function labelOf({ functionName, url, lineNumber }) {
  if (functionName.startsWith('(')) return functionName
  const place = url.replace(/^.*\/(node_modules|packages)\//, '')
  return `${functionName || 'anonymous'}${place && ` (${place}:${lineNumber + 1})`}`
}
