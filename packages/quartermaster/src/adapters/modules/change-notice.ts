/** Tells listeners that something changed: once for a burst of changes. */
export interface ChangeNotice {
  changed(): void
  listen(listener: () => void): () => void
  count(): number
  close(): void
}

/** How many quiet times a burst may go on before it is told anyway, so that a file written without pause hides nothing. */
const LONGEST_BURST = 10

export function createChangeNotice(quietMs: number): ChangeNotice {
  const listeners = new Set<{ tell: () => void }>()
  let timer: NodeJS.Timeout | undefined
  let burstSince = 0

  function tell(): void {
    timer = undefined
    for (const listener of listeners) listener.tell()
  }

  return {
    changed() {
      const now = performance.now()
      if (timer && now - burstSince >= LONGEST_BURST * quietMs) return
      if (!timer) burstSince = now
      clearTimeout(timer)
      timer = setTimeout(tell, quietMs).unref()
    },
    listen(tell) {
      const listener = { tell }
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    count: () => listeners.size,
    close() {
      clearTimeout(timer)
      timer = undefined
      listeners.clear()
    },
  }
}
