import { type Events } from '../../contracts/index.ts'
import { type AccessGuard, accessLooks } from './limits.ts'
import { type Cancel } from './ports.ts'

/** Announces events to listeners. A listener that throws is reported and stops no other listener. */
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

/** Listeners of one event. An error of one keeps neither the others nor the emitter from going on. */
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

export interface GuardedEventsOptions extends AccessGuard {
  /** How often a stream that has nothing to say shows that it lives, and it is looked whether it may. */
  readonly pingMs: number
}

/** Events as they come, for as long as the follower has access; `undefined` is no event, and shows that the stream lives. */
export async function* guardedEvents<T>(
  events: AsyncIterator<T>,
  { stillAdmitted, ...options }: GuardedEventsOptions,
): AsyncGenerator<T | undefined> {
  const alarm = createAlarm(options)
  try {
    for (let next = events.next(); ; ) {
      const turn = await Promise.race([next, alarm.rung()])
      // Before each event: a follower whose access has just ended does not get it.
      await stillAdmitted()
      if (turn === undefined) yield undefined
      else if (turn.done) return
      else {
        yield turn.value
        next = events.next()
      }
    }
  } finally {
    alarm.stop()
  }
}

/** Rings when it is time to look. */
function createAlarm(looks: Omit<GuardedEventsOptions, 'stillAdmitted'>) {
  let ring: () => void = () => {}
  let isDue = false
  const stop = accessLooks(looks, () => {
    isDue = true
    ring()
  })
  return {
    rung: () =>
      new Promise<undefined>(resolve => {
        ring = () => {
          isDue = false
          resolve(undefined)
        }
        if (isDue) ring()
      }),
    stop,
  }
}
