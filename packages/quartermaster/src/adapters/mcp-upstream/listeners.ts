/** Listeners to a change without details. */
interface Listeners {
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
      // A listener may remove itself, or add others that were not there at the time of the event.
      for (const listener of [...listeners]) listener()
    },
  }
}
