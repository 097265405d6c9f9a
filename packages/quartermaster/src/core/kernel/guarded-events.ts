import type { Cancel, Clock } from './ports.ts'

export interface GuardedEventsOptions {
  readonly clock: Pick<Clock, 'after'>
  /** How often a stream that has nothing to say shows that it lives. */
  readonly pingMs: number
  /** Throws when whoever follows may not any more. */
  stillAdmitted(): Promise<unknown>
  /** Calls back when somebody's access may have ended. */
  onAccessChange(look: () => void): Cancel
}

/** Events as they come, for as long as whoever follows may have them; `undefined` is none, and shows that the stream lives. */
export async function* guardedEvents<T>(
  events: AsyncIterator<T>,
  { stillAdmitted, ...options }: GuardedEventsOptions,
): AsyncGenerator<T | undefined> {
  const alarm = createAlarm(options)
  try {
    for (let next = events.next(); ; ) {
      const turn = await Promise.race([next, alarm.rung()])
      // Before each event: whoever has lost the right to it in this moment does not get it.
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

/** Rings every so often, and when somebody's access has changed. */
function createAlarm({ clock, pingMs, onAccessChange }: Omit<GuardedEventsOptions, 'stillAdmitted'>) {
  let ring: () => void = () => {}
  let isDue = false
  let cancel: Cancel = () => {}
  const due = () => {
    isDue = true
    ring()
  }
  const wind = () => {
    cancel = clock.after(pingMs, () => {
      wind()
      due()
    })
  }
  const off = onAccessChange(due)
  wind()
  return {
    rung: () =>
      new Promise<undefined>(resolve => {
        ring = () => {
          isDue = false
          resolve(undefined)
        }
        if (isDue) ring()
      }),
    stop() {
      cancel()
      off()
    },
  }
}
