import type { Events } from '../../contracts/index.ts'

/** Announces what happened to whoever listens. A listener that throws is reported and stops nobody else. */
export interface Emitter {
  emit<K extends keyof Events>(name: K, event: Events[K]): void
  on<K extends keyof Events>(name: K, listener: (event: Events[K]) => void): () => void
}

type Listener = (event: never) => void

export function createEmitter(options: { onError: (error: unknown, event: string) => void }): Emitter {
  const listeners = new Map<string, Set<Listener>>()
  return {
    emit(name, event) {
      for (const listener of listeners.get(name) ?? []) {
        try {
          ;(listener as (event: unknown) => void)(event)
        } catch (error) {
          options.onError(error, name)
        }
      }
    },
    on(name, listener) {
      const set = listeners.get(name) ?? new Set()
      listeners.set(name, set.add(listener as Listener))
      return () => void set.delete(listener as Listener)
    },
  }
}
