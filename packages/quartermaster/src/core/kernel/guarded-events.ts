import { type AccessGuard, accessLooks } from './access-looks.ts'

export interface GuardedEventsOptions extends AccessGuard {
  /** How often a stream that has nothing to say shows that it lives, and it is looked whether it may. */
  readonly pingMs: number
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
