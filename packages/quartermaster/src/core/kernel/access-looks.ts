import { isAppError } from '../../contracts/index.ts'
import type { Cancel, Clock } from './ports.ts'

/** How it is noticed that somebody who was let in may not be there any more. */
export interface AccessGuard {
  readonly clock: Pick<Clock, 'after'>
  /** How often it is looked by itself: not everything is heard of. */
  readonly pingMs: number
  /** Throws when whoever was let in may not be there any more. */
  stillAdmitted(): Promise<unknown>
  /** Calls back when somebody's access may have ended. */
  onAccessChange(look: () => void): Cancel
}

/** Calls back every so often, and when somebody's access may have ended: then it is time to look. */
export function accessLooks(
  { clock, pingMs, onAccessChange }: Omit<AccessGuard, 'stillAdmitted'>,
  due: () => void,
): Cancel {
  let cancel: Cancel = () => {}
  const wind = () => {
    cancel = clock.after(pingMs, () => {
      wind()
      due()
    })
  }
  const off = onAccessChange(due)
  wind()
  return () => {
    cancel()
    off()
  }
}

/** Looks now and whenever it is time to. Tells when somebody may not be there any more, and why. */
export function watchAccess(guard: AccessGuard, onRefused: (error: unknown) => void): Cancel {
  // One that could not look has seen nothing, and is no reason to send anybody away.
  const look = () => void guard.stillAdmitted().catch(error => isRefused(error) && onRefused(error))
  const stop = accessLooks(guard, look)
  // It may have ended since this one was let in.
  look()
  return stop
}

function isRefused(error: unknown): boolean {
  return isAppError(error) && ['unauthenticated', 'denied', 'notFound'].includes(error.kind)
}
