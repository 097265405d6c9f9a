import { type Events } from '../../contracts/index.ts'
import { type AccessGuard, scheduleAccessChecks } from './limits.ts'
import { type Cancel } from './ports.ts'

/** Announces events to listeners. An error of one listener is reported and stops no other listener. */
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

/** Listeners of one event. An error of one listener is reported and stops no other listener. */
export interface Listeners {
  add(listener: () => void): Cancel
  notify(): void
  clear(): void
}

export function createListeners({ onError }: { onError(error: unknown): void }): Listeners {
  const all = new Set<{ readonly listener: () => void }>()
  return {
    add(listener) {
      // The same function may be added twice, and each removal removes one.
      const entry = { listener }
      all.add(entry)
      return () => void all.delete(entry)
    },
    notify() {
      for (const { listener } of [...all]) {
        try {
          listener()
        } catch (error) {
          onError(error)
        }
      }
    },
    clear: () => all.clear(),
  }
}

export interface GuardedEventsOptions extends AccessGuard {
  /** Interval of keep-alive signals and access checks on an idle stream. */
  readonly pingMs: number
}

/** Passes events on while the follower has access; `undefined` is a keep-alive signal. */
export async function* guardedEvents<T>(
  events: AsyncIterator<T>,
  { stillAdmitted, ...options }: GuardedEventsOptions,
): AsyncGenerator<T | undefined> {
  const alarm = createAlarm(options)
  try {
    for (let next = events.next(); ; ) {
      const turn = await Promise.race([next, alarm.rung()])
      // A follower whose access has just ended must not get the next event.
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

function createAlarm(options: Omit<GuardedEventsOptions, 'stillAdmitted'>) {
  let ring: () => void = () => {}
  let isDue = false
  const stop = scheduleAccessChecks(options, () => {
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
