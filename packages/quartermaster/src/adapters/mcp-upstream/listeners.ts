/** Whoever wants to be told that something is not as it was. */
export interface Listeners {
  /** Returns how to stop. */
  add(listener: () => void): () => void
  tell(): void
}

export function createListeners(): Listeners {
  const listeners = new Set<() => void>()
  return {
    add(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    tell() {
      // Whoever is told may go, or bring others, who were not there when it happened.
      for (const listener of [...listeners]) listener()
    },
  }
}
