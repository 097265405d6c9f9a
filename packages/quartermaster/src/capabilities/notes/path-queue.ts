/** Does works on the same thing one after the other, and works on different things at once. */
export type PathQueue = <T>(path: string, work: () => Promise<T>) => Promise<T>

/** Two edits of this process would otherwise both look, both find nothing changed, and one would be lost. */
export function createPathQueue(): PathQueue {
  const last = new Map<string, Promise<unknown>>()
  return (path, work) => {
    const turn = (last.get(path) ?? Promise.resolve()).then(work, work)
    const settled = turn
      .catch(() => {})
      .finally(() => {
        if (last.get(path) === settled) last.delete(path)
      })
    last.set(path, settled)
    return turn
  }
}
