/** Collects what happens and tells it once nothing more has happened for a moment. */
export interface QuietNotice<T> {
  add(item: T): void
  cancel(): void
}

// Editors write a file in several steps; this is longer than the gaps between them and shorter than anyone notices.
const QUIET_MS = 60

/** Makes a notice that hands over each different item once. */
export function createQuietNotice<T>(tell: (items: ReadonlySet<T>) => void): QuietNotice<T> {
  let timer: NodeJS.Timeout | undefined
  let items = new Set<T>()
  return {
    add(item) {
      items.add(item)
      clearTimeout(timer)
      timer = setTimeout(() => {
        const told = items
        items = new Set()
        tell(told)
      }, QUIET_MS).unref()
    },
    cancel() {
      clearTimeout(timer)
      items.clear()
    },
  }
}
