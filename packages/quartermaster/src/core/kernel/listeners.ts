import type { Cancel } from './ports.ts'

/** Whoever wants to hear of one thing. What one of them throws keeps nobody else from hearing it, and not whoever tells it. */
export interface Listeners {
  add(listener: () => void): Cancel
  tell(): void
  clear(): void
}

export function createListeners({ onError }: { onError(error: unknown): void }): Listeners {
  const all = new Set<{ readonly hear: () => void }>()
  return {
    add(hear) {
      // The same function may be added twice, and is taken away once for each.
      const entry = { hear }
      all.add(entry)
      return () => void all.delete(entry)
    },
    tell() {
      for (const { hear } of [...all]) {
        try {
          hear()
        } catch (error) {
          onError(error)
        }
      }
    },
    clear: () => all.clear(),
  }
}
